#include <algorithm>

#include <fmt/format.h>

#include "base/redaction.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "json/encode.h"
#include "project/project.h"
#include "view/table.h"

namespace reeve::cli {

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

std::vector<spec::ConfigEntry> shown_entries(const spec::LoadedConfig& loaded) {
  std::vector<spec::ConfigEntry> entries = loaded.entries();
  for (spec::ConfigEntry& entry : entries) {
    if (is_secret(entry, loaded.config())) entry.value = Value::string("***");
    if (entry.path == "store") entry.value = Value::string(base::mask_address(loaded.config().store));
    if (entry.path == "notify") mask_addresses(entry.value);
  }
  return entries;
}

std::string value_text(const Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  return value.is_null() ? "-" : json::encode(value);
}

Value entry_record(const spec::ConfigEntry& entry) {
  Value record = Value::object();
  record.set("key", Value::string(entry.path));
  record.set("value", entry.value);
  record.set("origin", Value::string(entry.origin));
  return record;
}

ExitCode run(const Call& call) {
  const project::FoundConfig found = project::load_config(project::find_project("."), call.arguments.values("--set"));
  if (!found.loaded) {
    return refuse(call, "config.invalid", "the config is not valid", found.loaded.error(), "Nothing was changed.");
  }
  const std::vector<spec::ConfigEntry> entries = shown_entries(*found.loaded);
  if (call.is_json) {
    Value::Array records;
    for (const spec::ConfigEntry& entry : entries) records.push_back(entry_record(entry));
    print_json(call, Value::array(std::move(records)));
    return ExitCode::done;
  }
  print_warnings(call, found.loaded->warnings());
  const bool with_origin = call.arguments.has("--origin");
  view::Table table(with_origin ? std::vector<std::string>{"KEY", "VALUE", "ORIGIN"}
                                : std::vector<std::string>{"KEY", "VALUE"});
  for (const spec::ConfigEntry& entry : entries) {
    std::vector<std::string> cells = {entry.path, value_text(entry.value)};
    if (call.out_is_terminal) cells[1] = base::fit_width(cells[1], 60, call.out.ascii);
    if (with_origin) cells.push_back(entry.origin);
    table.add(cells);
  }
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
  return ExitCode::done;
}

}  // namespace

Command make_config_show() {
  return {
      .name = "config show",
      .summary = "The config in force, and where each value comes from",
      .about = R"(From the nearest to the farthest: `--set`, variables (REEVE_STORE, REEVE_SUPERVISION_LEASE, …), the
project's `.reeve/config.yaml`, your own `~/.config/reeve/config.yaml`, defaults. The nearer wins,
key by key; lists and policy rules are replaced whole. Values of secret variables are shown as ***.

Exit codes: 0 done, 2 a config file is not valid.)",
      .examples = {{"reeve config show --origin", "every value with its file and line"},
                   {"reeve config show --set supervision.lease=30s", "what a setting would do"},
                   {"reeve config show --json", "for a script"}},
      .positionals = {},
      .options = {{.name = "--origin", .help = "say where each value comes from"},
                  {.name = "--set", .value = "KEY=VALUE", .help = "a value for this call", .is_repeatable = true}},
      .run = run,
  };
}

}  // namespace reeve::cli
