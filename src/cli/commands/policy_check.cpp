#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/policies.h"
#include "json/parse.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;

Value arguments_of(const Call& call) {
  auto value = json::parse(call.arguments.value("--args").value_or("{}"));
  if (!value || value->as_object() == nullptr) {
    throw base::Error(ErrorCode::cli_usage, "--args must be a JSON object", R"(for example {"path":"src/main.cpp"})");
  }
  return std::move(*value);
}

ExitCode run(const Call& call) {
  wire::PolicyQuestion question{.tool = call.arguments.positional(0),
                                .role = call.arguments.value("--role"),
                                .arguments = arguments_of(call),
                                .project = {},
                                .agent = call.arguments.value("--agent"),
                                .cwd = {}};
  if (const auto cwd = call.arguments.value("--cwd")) {
    question.cwd = std::filesystem::absolute(*cwd).lexically_normal().string();
  }
  client::Daemon daemon(daemon_place(call));
  question.project = folder_here(daemon.place());
  const client::PolicyRecord record = client::check_policy(daemon, question);
  if (call.is_json) {
    print_json(call, record.wire);
  } else {
    fmt::print("{}\t{}\n", base::spell(record.answer.policy), base::visible(record.answer.source));
  }
  return record.answer.policy == model::Policy::deny ? ExitCode::denied : ExitCode::done;
}

}  // namespace

Command make_policy_check() {
  return {
      .name = "policy check",
      .summary = "Show how an agent's tool call would be answered",
      .about =
          R"(Prints `auto_approve`, `require_approval` or `deny`, and the rule that decided. Nothing is asked and
nothing is run. Rules on arguments (`when`) are tested against `--args`; paths are resolved within the
project, through `..` and links. Reading is approved automatically only inside the project, and never
for files that may hold secrets (.env, *.pem, id_*, …).

The same function decides the calls of agents. The tool may have the name that an agent gives it, such as
Bash. A shell command counts as an argument vector only if it is one simple command. Standing grants do not
count here: `reeve policy grants`. `reeve policy test` checks many calls.

Exit codes: 0 allowed, or a person is asked; 5 denied.)",
      .examples = {{"reeve policy check git_push", "for an agent without a role"},
                   {"reeve policy check file_write --role witness", "with the rules of a role"},
                   {R"(reeve policy check file_read --args '{"path":"../x"}')",
                    "outside the project: a person is asked"},
                   {R"(reeve policy check shell_execute --args '{"command":"git status"}')", "a command"},
                   {R"(reeve policy check file_write --args '{"path":"src/main.cpp"}')", "with its arguments"}},
      .positionals = {{.name = "TOOL", .help = "the name of a tool: file_write, git_push, …"}},
      .options = {{.name = "--role", .value = "R", .help = "the role of the agent"},
                  {.name = "--args", .value = "JSON", .help = "the arguments of the call, as an object"},
                  {.name = "--agent", .value = "TOOL", .help = "the tool profile that calls; its sandbox counts"},
                  {.name = "--cwd", .value = "DIR", .help = "the folder of the call (default: the project)"}},
      .run = run,
  };
}

}  // namespace reeve::cli
