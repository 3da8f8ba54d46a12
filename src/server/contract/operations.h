#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "json/schema.h"
#include "model/describe.h"
#include "model/token.h"

// The contract of every route: the source of /api/openapi.json and of request validation. A test compares it with the
// routes in both directions.
namespace reeve::server {

// Records per page.
inline constexpr std::int64_t max_listed = 500;
inline constexpr std::int64_t listed_by_default = 50;

using model::Scope;

// How an Idempotency-Key is stored.
enum class IdempotencyMode {
  // Not at all: the operation changes nothing and can be repeated anyway.
  none,
  // In memory, while this daemon lives: for transient effects such as typed input.
  memory,
  // In the transaction of the change; also the whole response if `Idempotency::status` says so.
  change,
  // Like `change`, and the whole response after it.
  change_then_answer,
  // After the change: a repetition is either harmless or refused.
  answer,
};

// What a process inside a managed run may do with the operation, on any socket and with any token (APR-11, SPEC §7): it
// may ask, and read its own run, but never decide.
enum class InRunAccess {
  // Refused, and a test fails: every operation must choose.
  unsaid,
  // Same as any caller: the response reveals nothing about runs.
  anyone,
  // May start runs, which become children of its own.
  starts,
  // Only for its own run and runs that it started; for approvals of these (in a list, of the run that `run` names); for
  // the execution that its run belongs to.
  own_run,
  own_approval,
  own_approvals,
  own_execution,
  // `api.inside_run`.
  refused,
  // Refused by the operation itself, which reports the attempt as an event and in the audit trail.
  reported,
};
REEVE_DESCRIBE_ENUM(InRunAccess, unsaid, anyone, starts, own_run, own_approval, own_approvals, own_execution, refused,
                    reported)

struct Parameter {
  std::string_view name;
  base::Value schema;
  std::string_view about;
};

struct Reply {
  int status = 200;
  base::Value schema;
  std::string_view type = "application/json";
};

struct Operation {
  std::string_view method;
  // "/api/runs/{id}/output".
  std::string_view path;
  // `operationId`.
  std::string_view name;
  InRunAccess inside = InRunAccess::unsaid;
  std::string_view summary;
  Scope scope = Scope::read;
  std::vector<Parameter> query = {};
  // The schema of the body; null without one.
  base::Value body = {};
  std::vector<Reply> replies = {};
  // Error codes besides those that every operation may return.
  std::vector<std::string_view> errors = {};
  IdempotencyMode idempotency = IdempotencyMode::none;
  // A single resource, whose response carries an ETag.
  bool is_tagged = false;
};

std::vector<Operation> run_operations(json::Schemas& schemas);
std::vector<Operation> approval_operations(json::Schemas& schemas);
std::vector<Operation> execution_operations(json::Schemas& schemas);
std::vector<Operation> pipeline_operations(json::Schemas& schemas);
std::vector<Operation> patch_operations(json::Schemas& schemas);
std::vector<Operation> task_operations(json::Schemas& schemas);
std::vector<Operation> workflow_operations(json::Schemas& schemas);
std::vector<Operation> setting_operations(json::Schemas& schemas);
std::vector<Operation> record_operations(json::Schemas& schemas);
std::vector<Operation> daemon_operations(json::Schemas& schemas);
std::vector<Operation> access_operations(json::Schemas& schemas);

struct Contract {
  std::vector<Operation> operations;
  json::Schemas schemas;
};
const Contract& contract();
// Converts "/api/runs/{id}" to the route "/api/runs/*".
std::string route_path(const Operation& operation);
const Operation* find_operation(std::string_view method, std::string_view route_path);

// All error codes of the operation, including the common ones.
std::vector<std::string> error_codes(const Operation& operation);

// OpenAPI 3.1.
base::Value openapi_document();

// Building blocks for the tables.
Parameter limit_parameter();
Parameter cursor_parameter();
Parameter flag_parameter(std::string_view name, std::string_view about);
// The project whose config and files apply.
Parameter project_parameter();
Parameter text_parameter(std::string_view name, std::string_view about);
Parameter integer_parameter(std::string_view name, std::int64_t least, std::int64_t most, std::string_view about);
Parameter duration_parameter(std::string_view name, std::string_view about);
// A comma-separated list of words: "a,b".
Parameter words_parameter(std::string_view name, const std::vector<std::string>& words, std::string_view about);
// A page `{items, next_cursor}` of `item`, as a named schema.
base::Value page_of(json::Schemas& schemas, std::string_view name, base::Value item);
// An object whose members are all optional.
base::Value optional_members(base::Value::Object properties);

}  // namespace reeve::server
