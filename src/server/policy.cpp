#include "engine/policy.h"

#include <utility>

#include "json/decode.h"
#include "json/describe.h"
#include "server/api.h"
#include "server/own_project.h"
#include "wire/settings.h"

// /api/policy: what agents' tool calls may do (TOOL-1).
namespace reeve::server {

namespace {

using base::Error;

void show(SharedExchange exchange) {
  exchange->send(200, json::to_value(wire::PolicyTable{
                          .policies = load_config(*exchange).policies,
                          .defaults = {.tools = model::default_policies(), .roles = model::default_role_policies()}}));
}

// Says what would hold; nothing is asked and nothing is run.
void check(SharedExchange exchange) {
  const auto question = json::from_value<wire::PolicyQuestion>(exchange->body());
  if (!question) throw Error("api.bad_request", question.error());
  if (question->tool.empty()) throw Error("api.bad_request", "`tool` is needed: the name of a tool, as file_write");
  const base::Value arguments = question->arguments.value_or(base::Value::object());
  if (arguments.as_object() == nullptr) throw Error("api.bad_request", "`arguments` must be an object");
  auto verdict =
      engine::resolve_policy(load_config(*exchange).policies, question->role.value_or(""), question->tool, arguments);
  exchange->send(200, json::to_value(wire::PolicyAnswer{.tool = question->tool,
                                                        .role = question->role,
                                                        .policy = verdict.policy,
                                                        .source = std::move(verdict.source)}));
}

}  // namespace

std::vector<Route> policy_routes() { return {{"GET", "/api/policy", show}, {"POST", "/api/policy/check", check}}; }

}  // namespace reeve::server
