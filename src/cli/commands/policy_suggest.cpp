#include <fmt/format.h>

#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/daemon.h"
#include "client/http.h"
#include "wire/grant.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

std::string make_target(const Call& call, client::Daemon& daemon) {
  std::string target = "/api/policy/suggestions?";
  if (const auto since = call.arguments.value("--since")) {
    if (!base::parse_duration(*since)) {
      throw base::Error(ErrorCode::cli_usage, fmt::format("--since: {} is not a valid time", base::quoted(*since)),
                        fmt::format("use {}", base::duration_forms));
    }
    target += fmt::format("since={}&", client::encode_part(*since));
  }
  if (const auto run = call.arguments.value("--run")) return target + "run=" + find_run(daemon, *run).text();
  const auto project = project_here(daemon.place());
  return project ? target + "project=" + client::encode_part(*project) : target;
}

ExitCode run(const Call& call) {
  client::Daemon daemon(daemon_place(call));
  const base::Value document = daemon.get(make_target(call, daemon));
  if (call.is_json) {
    print_json(call, document);
    return ExitCode::done;
  }
  const auto found = client::decode<wire::PolicySuggestions>(document);
  if (found.suggestions.empty()) {
    print_aside("nothing to suggest from {} approved call{}\n", found.approved, found.approved == 1 ? "" : "s");
    return ExitCode::done;
  }
  // Valid as it is, so that it can be redirected into a file.
  fmt::print("policies:\n  tools:\n");
  std::string tool;
  for (const wire::PolicySuggestion& one : found.suggestions) {
    if (tool != one.tool) fmt::print("    {}:\n", base::visible(one.tool));
    tool = one.tool;
    fmt::print("      # {}: {} approved, the last one {}\n      - {}\n", base::visible(one.describes), one.calls,
               one.example.text(), base::visible(one.yaml));
  }
  if (found.left_out > 0) {
    print_aside("{} of {} approved calls are left out: no rule can cover them\n", found.left_out, found.approved);
  }
  print_next(call, "add what you agree with to the config, then reeve policy show");
  return ExitCode::done;
}

}  // namespace

Command make_policy_suggest() {
  return {
      .name = "policy suggest",
      .summary = "Propose rules from the tool calls that you approved",
      .about =
          R"(Looks at the last 2,000 tool calls of the current project, or of one run, and prints rules that would have
allowed those that a person approved, as a part of a config, with how often. A program that only reads is
proposed with its subcommand if it was approved with different arguments, otherwise the exact arguments; a
folder is proposed if several of its files were approved, otherwise the file. Nothing is proposed for
interpreters, shells, programs that start others, options that run commands, text that is not one simple
command, or calls that the rules deny.

Nothing changes: add what you agree with to the config yourself.)",
      .examples = {{"reeve policy suggest", "from the calls of this project"},
                   {"reeve policy suggest --since 7d", "only of the last week"},
                   {"reeve policy suggest --run TR-7 --json", "of one run, for a script"}},
      .positionals = {},
      .options = {{.name = "--run", .value = "ID", .help = "only calls of this run"},
                  {.name = "--since", .value = "TIME", .help = "only calls of this last time, such as 7d"}},
      .run = run,
  };
}

}  // namespace reeve::cli
