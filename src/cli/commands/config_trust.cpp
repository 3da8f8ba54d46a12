#include <algorithm>
#include <iostream>
#include <string>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/live/ask_person.h"
#include "cli/state_option.h"
#include "json/encode.h"
#include "project/project.h"
#include "project/shown_config.h"
#include "project/trust.h"
#include "view/table.h"

namespace reeve::cli {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Value;

Value list_of(const std::vector<spec::ProjectValue>& values, const model::Config& config) {
  Value list = Value::array();
  for (const spec::ProjectValue& value : values) {
    Value item = Value::object();
    item.set("key", Value::string(value.path));
    item.set("value", project::shown_value(value.path, value.value, config));
    item.set("origin", Value::string(value.origin));
    list.as_array()->push_back(std::move(item));
  }
  return list;
}

Value document_of(const fs::path& project, const spec::LoadedConfig& loaded, bool is_trusted) {
  const spec::ProjectTrust& trust = loaded.project_trust();
  Value document = Value::object();
  document.set("project", Value::string(base::replace_invalid_utf8(project.string())));
  document.set("trusted", Value::boolean(is_trusted));
  document.set("digest", Value::string(trust.digest));
  document.set("keys", list_of(trust.keys, loaded.config()));
  document.set("commands", list_of(trust.commands, loaded.config()));
  return document;
}

// Never shortened: only what was shown can be trusted.
void print_values(const Call& call, std::string_view title, const std::vector<spec::ProjectValue>& values,
                  const model::Config& config) {
  fmt::print("{}\n", call.out.paint(view::Tint::bold, title));
  for (const spec::ProjectValue& value : values) {
    const Value shown = project::shown_value(value.path, value.value, config);
    fmt::print("  {}: {}  ({})\n", base::visible(value.path), base::visible(json::encode(shown)),
               base::visible(value.origin));
  }
  if (values.empty()) fmt::print("  none\n");
}

bool ask() {
  print_aside("Trust them? [y/N] ");
  std::string line;
  if (!std::getline(std::cin, line)) return false;
  const std::string word = base::to_ascii_lower(std::string(base::trim(line)));
  return word == "y" || word == "yes";
}

ExitCode revoke(const Call& call, const fs::path& project) {
  const bool was_trusted = project::revoke_trust(project);
  if (call.is_json) {
    Value document = Value::object();
    document.set("project", Value::string(base::replace_invalid_utf8(project.string())));
    document.set("trusted", Value::boolean(false));
    print_json(call, document);
  } else {
    fmt::print("{}: {}\n", base::visible(project.string()),
               was_trusted ? "no longer trusted" : "was not trusted; nothing was changed");
    if (was_trusted)
      print_aside("a running daemon keeps the config that it read at start; to restart it: reeve stop\n");
  }
  return ExitCode::done;
}

ExitCode run(const Call& call) {
  refuse_host(call, "config trust");
  if (is_inside_run()) {
    throw base::Error(ErrorCode::config_denied, "a process inside a run cannot change trust",
                      "run `reeve config trust` outside of the run");
  }
  const auto project = project::find_project(".");
  if (!project)
    throw base::Error(ErrorCode::cli_usage, "not inside a project",
                      "change to a project folder, or create one: reeve init");
  if (call.arguments.has("--revoke")) return revoke(call, *project);
  // Read once, so that exactly what is shown is recorded, even if the file changes meanwhile.
  const project::FoundConfig found = project::load_config_to_trust(*project, find_any_state_option(call));
  if (!found.loaded) {
    return refuse(call, ErrorCode::config_invalid, "the config is not valid", found.loaded.error(),
                  "Nothing was changed.");
  }
  if (!found.has_project_file) {
    throw base::Error(ErrorCode::config_not_found, "this project has no config, so there is nothing to trust",
                      "reeve init");
  }
  const spec::ProjectTrust& trust = found.loaded->project_trust();
  const bool is_known = project::is_trusted(*project, trust.digest);
  if (!call.is_json) {
    print_values(call, "Keys that apply only if trusted:", trust.keys, found.loaded->config());
    print_values(call, "Commands that it defines:", trust.commands, found.loaded->config());
    std::fflush(stdout);
  }
  if (!is_known && !call.arguments.has("--yes")) {
    if (call.is_json || !can_ask()) {
      throw base::Error(ErrorCode::cli_usage, "cannot ask for confirmation here; nothing was trusted",
                        "review the keys, then: reeve config trust --yes");
    }
    if (!ask()) {
      print_aside("nothing was changed\n");
      return ExitCode::failed;
    }
  }
  if (!is_known) project::record_trust(*project, trust.digest);
  project::record_commands_shown(*project, trust.commands_digest);
  if (call.is_json) {
    print_json(call, document_of(*project, *found.loaded, true));
    return ExitCode::done;
  }
  fmt::print("{} {}: {}\n", call.out.paint(view::Tint::green, call.out.pick("✓", "+")),
             base::visible(project->string()), is_known ? "already trusted" : "trusted");
  const bool is_about_daemon = std::ranges::any_of(trust.keys, [](const spec::ProjectValue& value) {
    const std::string area = value.path.substr(0, value.path.find('.'));
    return area == "store" || area == "server" || area == "log" || area == "supervision";
  });
  if (is_about_daemon && !is_known)
    print_aside("a running daemon reads these keys only at start; to restart it: reeve stop\n");
  return ExitCode::done;
}

}  // namespace

Command make_config_trust() {
  return {
      .name = "config trust",
      .summary = "Review and trust this project's config",
      .about =
          R"(A config that came with a clone can only be stricter than your own. Until it is trusted, `store`, `server`,
`notify`, `log`, `supervision` and `retention` of `.reeve/config.yaml` are ignored, and so is everything that
allows more than your own config: `policies`, `sandbox`, `pass_env`, `worktree`, and everything under the name of a tool,
role or gate that your own config defines. `reeve config show --origin` shows what is ignored.

This command lists these keys with their values and asks for confirmation. It stores a digest of exactly
these values, outside of the project; if one of them changes, none applies until the project is trusted
again. `even_if_denied` is honoured only in your own config. Processes inside a run cannot use this command.

Exit codes: 0 trusted; 1 declined; 2 the config is not valid, or there is no terminal to ask at.)",
      .examples = {{"reeve config trust", "show the keys and ask"},
                   {"reeve config trust --yes", "in a script, without asking"},
                   {"reeve config trust --revoke", "stop trusting it"}},
      .positionals = {},
      .options = {{.name = "--yes", .help = "do not ask for confirmation"},
                  {.name = "--revoke", .help = "stop trusting this project"}},
      .run = run,
  };
}

}  // namespace reeve::cli
