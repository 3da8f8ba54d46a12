#include "engine/policy.h"

#include <filesystem>
#include <utility>

#include "base/quantity.h"
#include "engine/call_gate.h"
#include "engine/tool_names.h"
#include "json/decode.h"
#include "json/describe.h"
#include "runtime/gate/call_facts.h"
#include "server/access/project_policy.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"
#include "server/resources/own_project.h"
#include "wire/grant.h"
#include "wire/settings.h"

// /api/policy: rules for agents' tool calls (TOOL-1).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

namespace fs = std::filesystem;

// Only what the config says: whether a hook is installed in an agent's own settings is not visible here.
wire::GatedTool describe_channel(const std::string& tool, const model::ToolProfile& profile) {
  if (profile.speaks != model::Speaks::reeve) {
    return {tool, false,
            "decides for itself what it runs, unless it asks Reeve: `reeve hook install` for agents with hooks, or "
            "`reeve mcp` as its permission tool"};
  }
  if (profile.mode == model::RunMode::stream) {
    return {tool, true, "its `tool_use` lines are decided, run by Reeve and answered on its standard input"};
  }
  return {tool, true, "asks on the run's socket"};
}

void show(SharedExchange exchange) {
  model::Config config = load_config(*exchange);
  wire::PolicyTable table{.policies = std::move(config.policies),
                          .defaults = {.tools = model::default_policies(), .roles = model::default_role_policies()},
                          .inert = {},
                          .channels = {}};
  table.inert = engine::find_inert_conditions(table.policies);
  for (const auto& [name, profile] : config.tools) table.channels.push_back(describe_channel(name, profile));
  exchange->send(200, json::to_value(table));
}

// Facts are looked up for the call: who may not name paths must stay in the project.
void require_inside(const Exchange& exchange, const fs::path& cwd, const fs::path& folder) {
  if (!cwd.is_absolute()) throw Error(ErrorCode::api_bad_request, "`cwd` must be an absolute path");
  const fs::path relative = cwd.lexically_normal().lexically_relative(folder);
  const bool is_inside = !folder.empty() && !relative.empty() && *relative.begin() != "..";
  if (is_inside || may_name_paths(exchange)) return;
  throw Error(ErrorCode::api_forbidden, "naming a folder outside the project needs the scope `operate`",
              "leave out `cwd`, or use a token with that scope");
}

struct CheckedCall {
  runtime::CallOrigin origin;
  engine::NamedCall call;
  std::string cwd;
};

CheckedCall make_call(const Exchange& exchange, const wire::PolicyQuestion& question, const model::Config& config,
                      const fs::path& folder) {
  const base::Value arguments = question.arguments.value_or(base::Value::object());
  if (arguments.as_object() == nullptr) throw Error(ErrorCode::api_bad_request, "`arguments` must be an object");
  CheckedCall checked{.origin = {.agent = question.agent.value_or(""),
                                 .role = question.role.value_or(""),
                                 .project = folder.string(),
                                 .folder = folder.string()},
                      .call = {},
                      .cwd = question.cwd.value_or(folder.string())};
  if (question.cwd) require_inside(exchange, *question.cwd, folder);
  const auto profile = config.tools.find(checked.origin.agent);
  if (profile != config.tools.end()) checked.origin.sandbox = profile->second.sandbox;
  checked.call = engine::name_call("", question.tool, arguments, checked.cwd);
  // A tool under Reeve's own name is Reeve's.
  checked.origin.is_hosted = checked.call.tool == question.tool;
  return checked;
}

// Evaluates the rules; nothing is asked or run. The same function decides the calls of agents.
void check(SharedExchange exchange) {
  auto question = json::from_value<wire::PolicyQuestion>(exchange->body());
  if (!question) throw Error(ErrorCode::api_bad_request, question.error());
  if (question->tool.empty())
    throw Error(ErrorCode::api_bad_request, "`tool` is required: the name of a tool, such as file_write");
  const fs::path named = named_project(*exchange, question->project);
  model::Config config = load_config_around(*exchange, named);
  const fs::path folder = named.empty() ? own_project(exchange->daemon) : named;
  CheckedCall checked = make_call(*exchange, *question, config, folder);
  exchange->daemon.call_grants().facts().ask(
      [checked = std::move(checked), path = exchange->daemon.call_grants().default_path()] {
        return runtime::read_call_subject(checked.origin, checked.call.tool, checked.call.arguments, checked.cwd, path);
      },
      [exchange, role = question->role,
       policies = std::move(config.policies)](const std::expected<engine::CallSubject, Error>& subject) {
        if (!subject) return exchange->refuse(subject.error());
        const engine::CallVerdict verdict = engine::decide_call(policies, *subject, "", {});
        std::string source = verdict.rule;
        if (!verdict.reason.empty()) source += ": " + verdict.reason;
        exchange->send(
            200, json::to_value(wire::PolicyAnswer{
                     .tool = subject->tool, .role = role, .policy = verdict.policy, .source = std::move(source)}));
      });
}

void suggest(SharedExchange exchange) {
  runtime::CallGrants::SuggestionTerms terms;
  if (const auto run = exchange->query("run")) {
    terms.run = base::RunId::parse(*run);
    if (!terms.run) throw Error(ErrorCode::api_bad_request, "`run` is not a valid run id", "ids look like TR-17");
  }
  terms.project = parse_project_filter(*exchange).value_or("");
  if (terms.run && !terms.project.empty()) {
    throw Error(ErrorCode::api_bad_request, "`run` and `project` cannot be combined", "omit one of them");
  }
  // The project's config is read.
  if (!terms.project.empty()) static_cast<void>(named_project(*exchange, terms.project));
  if (const auto since = exchange->query("since")) {
    terms.since = base::parse_duration(*since);
    if (!terms.since) {
      throw Error(ErrorCode::api_bad_request, "`since` is not a valid duration", std::string(base::duration_forms));
    }
  }
  exchange->daemon.call_grants().suggest(terms,
                                         [exchange](const std::expected<wire::PolicySuggestions, Error>& suggested) {
                                           if (!suggested) return exchange->refuse(suggested.error());
                                           exchange->send(200, json::to_value(*suggested));
                                         });
}

}  // namespace

std::vector<Operation> policy_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/policy",
           .handle = show,
           .name = "getPolicy",
           .inside = InRunAccess::refused,
           .summary = "Get the policy rules of the config, the defaults, and which tools ask (TOOL-1)",
           .query = {project_parameter()},
           .replies = {{200, schemas.of<wire::PolicyTable>()}},
           .errors = {ErrorCode::config_invalid},
           .is_tagged = true},
          {.method = "GET",
           .path = "/api/policy/suggestions",
           .handle = suggest,
           .name = "suggestPolicies",
           .inside = InRunAccess::refused,
           .summary = "Propose rules that would have allowed what people approved among the last 2,000 tool calls",
           .query = {{"run", json::string_schema("^[Tt][Rr]-[1-9][0-9]*$"), "only calls of this run"},
                     project_filter(),
                     duration_parameter("since", "only calls of this last time")},
           .replies = {{200, schemas.of<wire::PolicySuggestions>()}},
           .errors = {ErrorCode::config_invalid}},
          {.method = "POST",
           .path = "/api/policy/check",
           .handle = check,
           .name = "checkPolicy",
           .inside = InRunAccess::refused,
           .summary = "Evaluate the policy for a tool call and name the deciding rule; nothing is asked or run",
           .body = schemas.of_request<wire::PolicyQuestion>({"tool"}),
           .replies = {{200, schemas.of<wire::PolicyAnswer>()}},
           .errors = {ErrorCode::config_invalid}}};
}

}  // namespace reeve::server
