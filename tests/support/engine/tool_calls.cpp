#include "tests/support/engine/tool_calls.h"

#include "engine/shell_call.h"
#include "json/decode.h"
#include "json/parse.h"

namespace reeve::testing {

base::Value arguments_of(std::string_view json) { return json::parse(json).value(); }

engine::CallSubject make_call(std::string_view tool, std::string_view arguments) {
  engine::CallSubject subject;
  subject.agent = "claude";
  subject.role = "coder";
  subject.project = "/home/me/app";
  subject.tool = tool;
  subject.arguments = arguments_of(arguments);
  subject.cwd = "/work/app";
  subject.place = {.folder = "/work/app",
                   .real_folder = "/data/app",
                   .real_paths = {{"link", "/etc/passwd"}, {"docs/key", "/data/app/.env"}}};
  return subject;
}

engine::CallSubject make_shell_call(std::string_view command) {
  engine::CallSubject subject = make_call("shell_execute", "{}");
  subject.arguments.set("command", base::Value::string(command));
  if (const auto argv = engine::find_call_argv(subject.arguments)) {
    const std::string& name = argv->front();
    subject.program = engine::ProgramFact{
        .name = name, .path = name.starts_with('/') ? name : "/usr/bin/" + name, .is_writable_by_run = false};
  }
  subject.finds_own_repository = true;
  return subject;
}

model::PolicyRule make_rule(model::Policy policy, std::string_view when) {
  const auto conditions = json::from_value<model::PolicyConditions>(arguments_of(when));
  return {.policy = policy, .when = conditions.value(), .even_if_denied = false};
}

model::Policies make_policies(std::string_view tool, model::Policy policy, std::string_view when) {
  model::Policies policies;
  policies.tools[std::string(tool)] = {make_rule(policy, when)};
  return policies;
}

}  // namespace reeve::testing
