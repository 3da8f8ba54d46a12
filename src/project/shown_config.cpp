#include "project/shown_config.h"

#include <algorithm>

#include "base/redaction.h"

namespace reeve::project {

namespace {

using base::Value;

// "tools.claude.env.API_KEY" → whether its value is a secret: by its name, or because some tool says so (LOG-4).
bool is_secret(const spec::ConfigEntry& entry, const model::Config& config) {
  const std::size_t env = entry.path.find(".env.");
  if (env == std::string::npos) return false;
  const std::string variable = entry.path.substr(env + 5);
  if (base::names_secret(variable)) return true;
  return std::ranges::any_of(config.tools, [&](const auto& tool) {
    return std::ranges::find(tool.second.secrets, variable) != tool.second.secrets.end();
  });
}

// Addresses of webhooks lie within a list of records.
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

std::vector<spec::ConfigEntry> shown_entries(const spec::LoadedConfig& loaded) {
  std::vector<spec::ConfigEntry> entries = loaded.entries();
  for (spec::ConfigEntry& entry : entries) {
    if (is_secret(entry, loaded.config())) entry.value = Value::string("***");
    if (entry.path == "store") entry.value = Value::string(base::mask_address(loaded.config().store));
    if (entry.path == "notify") mask_addresses(entry.value);
  }
  return entries;
}

}  // namespace reeve::project
