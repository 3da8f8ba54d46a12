#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/host.h"
#include "cli/read_problems.h"
#include "cli/state_option.h"
#include "client/refusal.h"
#include "json/describe.h"
#include "json/encode.h"
#include "project/project.h"
#include "project/shown_config.h"
#include "view/table.h"
#include "wire/settings.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

std::string value_text(const Value& value) {
  if (const std::string* text = value.as_string()) return *text;
  return value.is_null() ? "-" : json::encode(value);
}

std::vector<wire::ConfigItem> items_here(const spec::LoadedConfig& loaded) {
  std::vector<wire::ConfigItem> items;
  for (project::ShownEntry& entry : project::shown_entries(loaded)) {
    wire::ConfigItem item{std::move(entry.path), std::move(entry.value), std::move(entry.origin), {}};
    if (entry.ignored) {
      item.ignored.emplace(std::move(entry.ignored->value), std::move(entry.ignored->origin),
                           std::move(entry.ignored->reason));
    }
    items.push_back(std::move(item));
  }
  return items;
}

void print_items(const Call& call, const std::vector<wire::ConfigItem>& items) {
  if (call.is_json) return print_json(call, json::to_value(items));
  const bool with_origin = call.arguments.has("--origin");
  view::Table table(with_origin ? std::vector<std::string>{"KEY", "VALUE", "ORIGIN"}
                                : std::vector<std::string>{"KEY", "VALUE"});
  for (const wire::ConfigItem& item : items) {
    std::vector<std::string> cells = {item.key, value_text(item.value)};
    if (call.out_is_terminal) cells[1] = base::fit_width(cells[1], 60, call.out.ascii);
    if (with_origin) {
      const auto& ignored = item.ignored;
      cells.push_back(
          ignored ? fmt::format("{} (ignored: {} from {})", item.origin, value_text(ignored->value), ignored->origin)
                  : item.origin);
    }
    table.add(cells);
  }
  fmt::print("{}", call.out_is_terminal ? table.for_terminal(call.out) : table.for_pipe());
}

// The config of the named daemon; nothing on this machine applies there.
ExitCode show_there(const Call& call, const client::DaemonPlace& place) {
  if (!call.arguments.values("--set").empty()) {
    throw base::Error(ErrorCode::cli_usage, "`--set` applies to the local config and cannot be combined with `--host`",
                      "omit one of them");
  }
  client::Daemon daemon(place);
  try {
    print_items(call, client::decode<wire::ConfigTable>(daemon.get("/api/config")).entries);
  } catch (const client::Refusal& refusal) {
    if (!refusal.is(ErrorCode::config_invalid) || call.is_json) throw;
    const Files files = is_elsewhere(place) ? Files::elsewhere : Files::here;
    return refuse(call, ErrorCode::config_invalid, refusal.message(),
                  read_problems(refusal.document().find("errors"), files), "Nothing was changed.");
  }
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  if (find_host(call)) return show_there(call, daemon_place(call));
  const auto project = project::find_project(".");
  const auto folder = find_any_state_option(call);
  const project::FoundConfig found =
      project::load_config(project, call.arguments.values("--set"),
                           project ? project::judge_daemon_keys(*project, folder) : spec::DaemonKeys::count);
  if (!found.loaded) {
    return refuse(call, ErrorCode::config_invalid, "the config is not valid", found.loaded.error(),
                  "Nothing was changed.");
  }
  print_warnings(call, found.loaded->warnings());
  print_items(call, items_here(*found.loaded));
  return ExitCode::done;
}

}  // namespace

Command make_config_show() {
  return {
      .name = "config show",
      .summary = "Show the effective config and where each value comes from",
      .about = R"(In order of precedence: `--set`, environment variables (REEVE_STORE, REEVE_SUPERVISION_LEASE, …), the
project's `.reeve/config.yaml`, your own `~/.config/reeve/config.yaml`, defaults. The first one that sets a
key wins; lists and policy rules are replaced as a whole. Values of secret variables are shown as ***.
With `--host`, shows the config of that daemon.

Exit codes: 0 done, 2 a config file is not valid.)",
      .examples = {{"reeve config show --origin", "every value with its file and line"},
                   {"reeve config show --set supervision.lease=30s", "preview a setting"},
                   {"reeve config show --json", "for a script"}},
      .positionals = {},
      .options = {{.name = "--origin", .help = "show where each value comes from"},
                  {.name = "--set", .value = "KEY=VALUE", .help = "set a value for this call", .is_repeatable = true}},
      .run = run,
  };
}

}  // namespace reeve::cli
