#include "server/access/project_policy.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "project/project.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

enum class ProjectRule {
  open,
  run,
  approval,
  execution,
  pipeline,
  patch,
  call,
  grant,
  listing,
  start,
  workflow,
  settings,
  refused
};

struct RuleOfPath {
  std::string_view method;
  // With no method: `{id}` at its end covers everything beneath that resource.
  std::string_view path;
  ProjectRule rule;
};

constexpr auto rules = std::to_array<RuleOfPath>({
    {"GET", "/healthz", ProjectRule::open},
    {"GET", "/readyz", ProjectRule::open},
    {"GET", "/api/openapi.json", ProjectRule::open},
    {"GET", "/api/runs", ProjectRule::listing},
    {"GET", "/api/approvals", ProjectRule::listing},
    {"GET", "/api/executions", ProjectRule::listing},
    {"GET", "/api/pipelines", ProjectRule::listing},
    {"GET", "/api/patches", ProjectRule::listing},
    {"GET", "/api/tool-calls", ProjectRule::listing},
    {"GET", "/api/grants", ProjectRule::listing},
    {"GET", "/api/policy/suggestions", ProjectRule::listing},
    {"POST", "/api/runs", ProjectRule::start},
    {"POST", "/api/executions", ProjectRule::start},
    {"POST", "/api/pipelines", ProjectRule::start},
    {"POST", "/api/failures/seen", ProjectRule::start},
    {"POST", "/api/questions", ProjectRule::start},
    {"POST", "/api/progress", ProjectRule::start},
    // Its questions and reports are about the token's project.
    {"POST", "/mcp", ProjectRule::open},
    {"GET", "/api/workflows", ProjectRule::settings},
    {"POST", "/api/workflows/validate", ProjectRule::settings},
    {"GET", "/api/workflows/{name}", ProjectRule::workflow},
    {"GET", "/api/workflows/{name}/graph", ProjectRule::workflow},
    {"GET", "/api/tools", ProjectRule::settings},
    {"GET", "/api/tools/{name}", ProjectRule::settings},
    {"GET", "/api/roles", ProjectRule::settings},
    {"GET", "/api/roles/{name}", ProjectRule::settings},
    {"GET", "/api/gates", ProjectRule::settings},
    {"GET", "/api/gates/{name}", ProjectRule::settings},
    {"GET", "/api/policy", ProjectRule::settings},
    {"POST", "/api/policy/check", ProjectRule::settings},
    {"", "/api/runs/{id}", ProjectRule::run},
    {"", "/api/approvals/{id}", ProjectRule::approval},
    {"", "/api/executions/{id}", ProjectRule::execution},
    {"", "/api/pipelines/{id}", ProjectRule::pipeline},
    {"", "/api/patches/{id}", ProjectRule::patch},
    {"", "/api/tool-calls/{id}", ProjectRule::call},
    {"", "/api/grants/{id}", ProjectRule::grant},
});

bool covers(const RuleOfPath& rule, const Operation& operation) {
  if (!rule.method.empty()) return rule.method == operation.method && rule.path == operation.path;
  return operation.path.starts_with(rule.path) &&
         (operation.path.size() == rule.path.size() || operation.path[rule.path.size()] == '/');
}

ProjectRule rule_of(const Operation& operation) {
  for (const RuleOfPath& rule : rules) {
    if (covers(rule, operation)) return rule.rule;
  }
  return ProjectRule::refused;
}

const std::string& project_of(const SharedExchange& exchange) { return *exchange->request.caller.project; }

[[noreturn]] void refuse(const SharedExchange& exchange, std::string what) {
  throw Error(ErrorCode::api_other_project, std::move(what),
              fmt::format("this token is limited to {}", base::quoted(project_of(exchange))));
}

// Which records an operation is about: how it calls a missing one, and how the store does.
struct RecordCodes {
  ErrorCode shown;
  ErrorCode stored;
};

// Continues if the record that was read belongs to the project. A record of another project and one that does not exist
// get the same answer.
template <class Record>
auto require_own(const SharedExchange& exchange, RecordCodes codes, std::string id, std::function<void()> go) {
  return [exchange, codes, id = std::move(id), go = std::move(go)](const std::expected<Record, Error>& record) {
    if (!record && !record.error().is(codes.stored)) return exchange->refuse(record.error());
    const bool is_own = record && record->project && record->project->path == project_of(exchange);
    if (is_own) return exchange->go_on(go);
    exchange->refuse(Error(codes.shown, fmt::format("there is no {} in this project", base::to_ascii_upper(id)),
                           fmt::format("this token is limited to {}", base::quoted(project_of(exchange)))));
  };
}

void admit_run(const SharedExchange& exchange, base::RunId id, ErrorCode shown, std::function<void()> go) {
  const RecordCodes codes{shown, ErrorCode::run_not_found};
  exchange->daemon.queries().get_run(id, require_own<model::Run>(exchange, codes, id.text(), std::move(go)));
}

void admit_approval(const SharedExchange& exchange, base::ApprovalId id, std::function<void()> go) {
  constexpr RecordCodes codes{ErrorCode::approval_not_found, ErrorCode::approval_not_found};
  exchange->daemon.queries().get_approval(id, require_own<model::Approval>(exchange, codes, id.text(), std::move(go)));
}

// An execution, or something that is found through it.
void admit_execution(const SharedExchange& exchange, base::ExecutionId id, ErrorCode shown, const std::string& name,
                     std::function<void()> go) {
  const RecordCodes codes{shown, ErrorCode::execution_not_found};
  exchange->daemon.queries().get_execution(id, store::NodeDetail::none,
                                           require_own<model::Execution>(exchange, codes, name, std::move(go)));
}

void admit_patch(const SharedExchange& exchange, std::function<void()> go) {
  const auto id = base::PatchId::parse(exchange->parts.at(0));
  if (!id) return go();
  exchange->daemon.queries().get_patch(
      *id, [exchange, id, go = std::move(go)](const std::expected<model::Patch, Error>& patch) {
        if (!patch && !patch.error().is(ErrorCode::patch_not_found)) return exchange->refuse(patch.error());
        // No execution has the number 0: the same answer as for the patch of another project.
        const base::ExecutionId execution = patch ? patch->execution_id : base::ExecutionId(0);
        admit_execution(exchange, execution, ErrorCode::patch_not_found, id->text(), go);
      });
}

void admit_call(const SharedExchange& exchange, std::function<void()> go) {
  constexpr RecordCodes codes{ErrorCode::call_not_found, ErrorCode::call_not_found};
  const base::CallId id = exchange->call_id();
  exchange->daemon.queries().get_call(id, require_own<model::ToolCall>(exchange, codes, id.text(), std::move(go)));
}

void admit_grant(const SharedExchange& exchange, std::function<void()> go) {
  constexpr RecordCodes codes{ErrorCode::grant_not_found, ErrorCode::grant_not_found};
  const base::GrantId id = exchange->grant_id();
  exchange->daemon.queries().get_grant(id, require_own<model::Grant>(exchange, codes, id.text(), std::move(go)));
}

// The folder in which something is started must be in the project.
void check_start(const SharedExchange& exchange) {
  const Value& body = exchange->body();
  bool names_folder = false;
  for (const std::string_view name : {"project", "cwd"}) {
    const Value* found = body.find(name);
    if (found == nullptr || found->is_null()) continue;
    names_folder = true;
    const std::string* path = found->as_string();
    const auto checkout = path != nullptr ? project::find_checkout(*path) : std::nullopt;
    if (!checkout || *checkout != project_of(exchange)) {
      refuse(exchange, fmt::format("`{}` is not in the token's project", name));
    }
  }
  const Value* execution = body.find("execution_id");
  if (execution != nullptr && !execution->is_null()) refuse(exchange, "`execution_id` may belong to another project");
  if (!names_folder) exchange->read_body->set("project", Value::string(project_of(exchange)));
}

// What a request reads is the project's own: its workflows, and the config that applies in it.
void limit_settings(const SharedExchange& exchange) {
  Request& request = exchange->request;
  if (request.method == "POST") {
    const Value* named = exchange->body().find("project");
    const bool is_named = named != nullptr && !named->is_null();
    if (is_named && (named->as_string() == nullptr || *named->as_string() != project_of(exchange))) {
      refuse(exchange, "`project` is not the token's project");
    }
    exchange->read_body->set("project", Value::string(project_of(exchange)));
  } else {
    const auto named = exchange->query("project");
    if (named && *named != project_of(exchange)) refuse(exchange, "`project` is not the token's project");
    request.query.insert_or_assign("project", project_of(exchange));
  }
  exchange->known_project = project_of(exchange);
}

// A version that was started (`sha256:…`) may be another project's.
void limit_workflow(const SharedExchange& exchange) {
  if (exchange->parts.at(0).contains(':')) refuse(exchange, "this version may belong to another project");
  limit_settings(exchange);
}

// The project that the request names, in its query or in its body.
std::optional<std::string> find_named_project(const SharedExchange& exchange, const Operation& operation) {
  if (auto named = exchange->query("project")) return named;
  if (operation.body.is_null()) return std::nullopt;
  const Value* named = exchange->body().find("project");
  if (named == nullptr || named->as_string() == nullptr) return std::nullopt;
  return *named->as_string();
}

void admit_listing(const SharedExchange& exchange, std::function<void()> go) {
  const auto asked = exchange->query("project");
  if (asked && *asked != project_of(exchange)) refuse(exchange, "`project` is not the token's project");
  // These belong to one project, which is checked instead: the filters cannot be combined.
  const auto of_run = exchange->query("run");
  const auto run = of_run ? base::RunId::parse(*of_run) : std::nullopt;
  if (run) return admit_run(exchange, *run, ErrorCode::api_other_project, std::move(go));
  const auto of_execution = exchange->query("execution");
  const auto execution = of_execution ? base::ExecutionId::parse(*of_execution) : std::nullopt;
  if (execution) {
    return admit_execution(exchange, *execution, ErrorCode::api_other_project, execution->text(), std::move(go));
  }
  exchange->request.query.insert_or_assign("project", project_of(exchange));
  go();
}

}  // namespace

void admit_limited_caller(const SharedExchange& exchange, const Operation& operation, std::function<void()> go) {
  if (!exchange->request.caller.project) return go();
  switch (rule_of(operation)) {
    case ProjectRule::open:
      return go();
    case ProjectRule::run:
      return admit_run(exchange, exchange->run_id(), ErrorCode::run_not_found, std::move(go));
    case ProjectRule::approval:
      return admit_approval(exchange, exchange->approval_id(), std::move(go));
    case ProjectRule::execution:
      return admit_execution(exchange, exchange->execution_id(), ErrorCode::execution_not_found,
                             exchange->execution_id().text(), std::move(go));
    case ProjectRule::pipeline:
      return admit_execution(exchange, exchange->execution_id(), ErrorCode::pipeline_not_found,
                             exchange->execution_id().text(), std::move(go));
    case ProjectRule::patch:
      return admit_patch(exchange, std::move(go));
    case ProjectRule::call:
      return admit_call(exchange, std::move(go));
    case ProjectRule::grant:
      return admit_grant(exchange, std::move(go));
    case ProjectRule::listing:
      return admit_listing(exchange, std::move(go));
    case ProjectRule::start:
      check_start(exchange);
      return go();
    case ProjectRule::workflow:
      limit_workflow(exchange);
      return go();
    case ProjectRule::settings:
      limit_settings(exchange);
      return go();
    case ProjectRule::refused:
      refuse(exchange, "this needs a token for all projects");
  }
}

bool may_name_paths(const Exchange& exchange) {
  const Request& request = exchange.request;
  return request.peer.entrance == Entrance::unix_socket || model::allows(request.caller.scopes, model::Scope::operate);
}

void admit_known_project(const SharedExchange& exchange, const Operation& operation, std::function<void()> go) {
  if (exchange->known_project || may_name_paths(*exchange)) return go();
  const auto named = find_named_project(exchange, operation);
  if (!named) return go();
  const runtime::Queries& queries = exchange->daemon.queries();
  queries.has_project(*named, [exchange, named, go = std::move(go)](const std::expected<bool, Error>& has_records) {
    if (!has_records) return exchange->refuse(has_records.error());
    if (*has_records) exchange->known_project = named;
    exchange->go_on(go);
  });
}

}  // namespace reeve::server
