#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error_code.h"
#include "base/value.h"
#include "json/schema.h"
#include "model/describe.h"
#include "model/token.h"

// What an operation of an API is: how it is requested, its handler, and its contract, which is the source of
// /api/openapi.json and of request validation.
namespace reeve::server {

struct Exchange;
using SharedExchange = std::shared_ptr<Exchange>;

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
  // the execution that its run belongs to; for tool calls of its own run only.
  own_run,
  own_approval,
  own_approvals,
  own_execution,
  own_call,
  own_calls,
  // `api.inside_run`.
  refused,
  // Refused by the operation itself, which reports the attempt as an event and in the audit trail.
  reported,
};
REEVE_DESCRIBE_ENUM(InRunAccess, unsaid, anyone, starts, own_run, own_approval, own_approvals, own_execution, own_call,
                    own_calls, refused, reported)

struct Parameter {
  std::string_view name;
  base::Value schema;
  std::string_view about;
};

struct Reply {
  int status = 200;
  base::Value schema;
  // Empty: without a body.
  std::string_view type = "application/json";
};

// The method of an operation that takes every request to its path.
inline constexpr std::string_view any_method = "*";

struct Operation {
  std::string_view method;
  // "/api/runs/{id}/output": a name in braces matches one segment; `{name...}`, at most once, any text, with slashes.
  std::string_view path;
  // Called if the request may be performed. May throw base::Error. A reference, so that no operation is without one.
  void (&handle)(SharedExchange exchange);
  // `operationId`. This and all that follows describe an operation of the daemon's API.
  std::string_view name = {};
  InRunAccess inside = InRunAccess::unsaid;
  std::string_view summary = {};
  Scope scope = Scope::read;
  std::vector<Parameter> query = {};
  // The schema of the body; null without one.
  base::Value body = {};
  std::vector<Reply> replies = {};
  // Error codes besides those that every operation may return.
  std::vector<base::ErrorCode> errors = {};
  IdempotencyMode idempotency = IdempotencyMode::none;
  // A single resource, whose response carries an ETag.
  bool is_tagged = false;
};

// Operations in the order in which a request is compared with them.
struct Contract {
  std::vector<Operation> operations;
  json::Schemas schemas;
};

// All error codes of the operation, including the common ones.
std::vector<base::ErrorCode> error_codes(const Operation& operation);

// Building blocks for the tables.
Parameter limit_parameter();
Parameter cursor_parameter();
Parameter flag_parameter(std::string_view name, std::string_view about);
// The project whose config and files apply.
Parameter project_parameter();
// Only records of the project with this path.
Parameter project_filter();
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
