#include "project/shown_config.h"

#include <algorithm>
#include <map>

#include "base/redaction.h"

namespace reeve::project {

namespace {

using base::Value;

// Whether the value of e.g. "tools.claude.env.API_KEY" is secret: by its name, or because a tool lists it (LOG-4).
bool is_secret(const std::string& path, const model::Config& config) {
  const std::size_t env = path.find(".env.");
  if (env == std::string::npos) return false;
  const std::string variable = path.substr(env + 5);
  if (base::names_secret(variable)) return true;
  return std::ranges::any_of(config.tools, [&](const auto& tool) {
    return std::ranges::find(tool.second.secrets, variable) != tool.second.secrets.end();
  });
}

// Webhook addresses are inside a list of records.
void mask_addresses(Value& value) {
  if (Value::Array* array = value.as_array()) {
    for (Value& item : *array) mask_addresses(item);
  }
  if (Value::Object* object = value.as_object()) {
    for (base::Member& member : *object) {
      const std::string* text = member.value.as_string();
      if (member.key == "webhook" && text != nullptr) member.value = Value::string(base::mask_address(*text));
    }
  }
}

}  // namespace

Value shown_value(const std::string& path, Value value, const model::Config& config) {
  if (is_secret(path, config)) return Value::string("***");
  const std::string* text = value.as_string();
  if (path == "store" && text != nullptr) return Value::string(base::mask_address(*text));
  if (path == "notify") mask_addresses(value);
  return value;
}

std::vector<ShownEntry> shown_entries(const spec::LoadedConfig& loaded) {
  std::vector<ShownEntry> entries;
  std::map<std::string, std::size_t> places;
  for (spec::ConfigEntry& entry : loaded.entries()) {
    entry.value = shown_value(entry.path, std::move(entry.value), loaded.config());
    places.emplace(entry.path, entries.size());
    entries.push_back({std::move(entry), std::nullopt});
  }
  for (spec::IgnoredValue ignored : loaded.project_trust().ignored) {
    ignored.value = shown_value(ignored.path, std::move(ignored.value), loaded.config());
    const auto [place, is_new] = places.emplace(ignored.path, entries.size());
    // No value is in effect for this key: a policy rule, for example.
    if (is_new) entries.push_back({{.path = ignored.path, .value = {}, .origin = "default"}, std::nullopt});
    entries[place->second].ignored = std::move(ignored);
  }
  return entries;
}

}  // namespace reeve::project
