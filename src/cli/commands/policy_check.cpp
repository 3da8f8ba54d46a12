#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/daemon.h"
#include "json/decode.h"
#include "json/parse.h"
#include "wire/settings.h"

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
  Value question = Value::object();
  question.set("tool", Value::string(call.arguments.positional(0)));
  if (const auto role = call.arguments.value("--role")) question.set("role", Value::string(*role));
  question.set("arguments", arguments_of(call));
  client::Daemon daemon(daemon_place(call));
  if (const auto project = project_here(daemon.place())) question.set("project", Value::string(*project));
  const Value document = daemon.post("/api/policy/check", question);
  const auto answer = json::from_value<wire::PolicyAnswer>(document);
  if (!answer) throw base::Error(ErrorCode::daemon_bad_answer, answer.error());
  if (call.is_json) {
    print_json(call, document);
  } else {
    fmt::print("{}\t{}\n", base::spell(answer->policy), base::visible(answer->source));
  }
  return answer->policy == model::Policy::deny ? ExitCode::denied : ExitCode::done;
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

Exit codes: 0 allowed, or a person is asked; 5 denied.)",
      .examples = {{"reeve policy check git_push", "for an agent without a role"},
                   {"reeve policy check file_write --role witness", "with the rules of a role"},
                   {R"(reeve policy check file_read --args '{"path":"../x"}')",
                    "outside the project: a person is asked"},
                   {R"(reeve policy check file_write --args '{"path":"src/main.cpp"}')", "with its arguments"}},
      .positionals = {{.name = "TOOL", .help = "the name of a tool: file_write, git_push, …"}},
      .options = {{.name = "--role", .value = "R", .help = "the role of the agent"},
                  {.name = "--args", .value = "JSON", .help = "the arguments of the call, as an object"}},
      .run = run,
  };
}

}  // namespace reeve::cli
