#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/connect.h"
#include "client/policies.h"
#include "json/describe.h"
#include "project/project.h"
#include "spec/policy_cases.h"
#include "view/call_text.h"

namespace reeve::cli {

namespace {

using base::Value;

wire::PolicyQuestion make_question(const spec::PolicyCase& call, const std::optional<std::string>& project) {
  wire::PolicyQuestion question{.tool = call.tool,
                                .role = call.role,
                                .arguments = call.arguments,
                                .project = project,
                                .agent = call.agent,
                                .cwd = {}};
  if (call.cwd) {
    question.cwd = (std::filesystem::path(project.value_or("/")) / *call.cwd).lexically_normal().string();
  }
  return question;
}

Value record_of(const spec::LocatedPolicyCase& located, const wire::PolicyAnswer& answer) {
  Value record = json::to_value(located.call);
  record.set("line", Value::integer(located.line));
  record.set("policy", json::to_value(answer.policy));
  record.set("source", Value::string(answer.source));
  record.set("is_as_expected", Value::boolean(answer.policy == located.call.expect));
  return record;
}

void print_case(const Call& call, const spec::LocatedPolicyCase& located, const wire::PolicyAnswer& answer) {
  const bool is_same = answer.policy == located.call.expect;
  const std::string subject = view::call_subject(located.call.arguments.value_or(Value::object()));
  const std::string tool = base::visible(located.call.tool);
  const std::string source = base::visible(answer.source);
  if (!call.out_is_terminal) {
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", is_same ? "ok" : "differs", located.line, tool, subject,
               base::spell(located.call.expect), base::spell(answer.policy), source);
    return;
  }
  constexpr std::size_t max_columns = 60;
  const std::string sign = is_same ? call.out.paint(view::Tint::green, call.out.pick("✓", "+"))
                                   : call.out.paint(view::Tint::red, call.out.pick("✗", "x"));
  fmt::print("{} {:>4}  {} {}\n", sign, located.line, tool, base::fit_width(subject, max_columns, call.out.ascii));
  const std::string found = fmt::format("{} ({})", base::spell(answer.policy), source);
  fmt::print("        {}\n", is_same
                                 ? call.out.paint(view::Tint::dim, found)
                                 : fmt::format("expected {}, but it is {}", base::spell(located.call.expect), found));
}

ExitCode run(const Call& call) {
  const auto source = project::read_source(call.arguments.positional(0));
  const auto cases = spec::parse_policy_cases(source);
  if (!cases) {
    return refuse(call, base::ErrorCode::config_invalid, "the table of calls is not valid", cases.error(),
                  "Nothing was checked.");
  }
  client::Daemon daemon(daemon_place(call));
  const auto project = folder_here(daemon.place());
  std::size_t differing = 0;
  Value::Array records;
  for (const spec::LocatedPolicyCase& located : *cases) {
    const wire::PolicyAnswer answer = client::check_policy(daemon, make_question(located.call, project)).answer;
    if (answer.policy != located.call.expect) ++differing;
    if (call.is_json) {
      records.push_back(record_of(located, answer));
    } else {
      print_case(call, located, answer);
    }
  }
  if (call.is_json) {
    print_json(call, Value::array(std::move(records)));
  } else {
    print_aside("{} of {} calls as expected\n", cases->size() - differing, cases->size());
  }
  return differing == 0 ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Command make_policy_test() {
  return {
      .name = "policy test",
      .summary = "Check that a table of tool calls gets the policies that you expect",
      .about =
          R"(Reads a list of tool calls, in YAML or JSON, and evaluates the rules of the current project's config for
each, as for a call of an agent; nothing is asked or run. Standing grants do not count. Each call has:

  tool        its name, as the agent or as Reeve calls it
  arguments   as the agent would send them (default: none)
  expect      auto_approve, require_approval or deny
  agent       the tool profile that calls (optional)
  role        its role (optional)
  cwd         its folder, relative to the project (optional)

When piped, each line has these tab-separated fields: `ok` or `differs`, line in the file, tool, command or
path, expected policy, policy, rule.

Exit codes: 0 all as expected, 1 at least one differs, 2 the table is not valid, 3 no such file.)",
      .examples = {{"reeve policy test calls.yaml", "for example in CI, before a config is merged"},
                   {"reeve policy test - --json < calls.json", "for a script"}},
      .positionals = {{.name = "FILE", .help = "a list of calls, or - for standard input", .is_file = true}},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
