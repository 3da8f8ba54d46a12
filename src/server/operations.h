#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "json/schema.h"
#include "model/describe.h"
#include "model/token.h"

// What the API promises of each of its routes: the source of /api/openapi.json, and of what a request is held to. A
// test compares it with the routes, both ways.
namespace reeve::server {

using model::Scope;

// How an Idempotency-Key is kept.
enum class Keeping {
  // Not at all: it changes nothing, so that it may be sent again anyway.
  none,
  // In memory, while this daemon lives: for what passes by, as a key that is typed.
  memory,
  // With the change, in its transaction; the whole answer too where `Idempotency::status` says so.
  change,
  // As `change`, and the whole answer behind it.
  change_then_answer,
  // Behind the change: what is asked for twice is done once, or refused the second time.
  answer,
};

// What a process inside a managed run may do with it, at whatever door and with whatever token (APR-11, SPEC §7): it
// may ask and read its own, never decide.
enum class Inside {
  // Refused, and a test fails: each operation says it.
  unsaid,
  // The same as anybody: it tells nothing of what runs.
  anyone,
  // What it starts is its own.
  starts,
  // Of its own run and of those that it has started; of its own approvals, `run` names whose; of the execution that its
  // run is a part of.
  own_run,
  own_approval,
  own_approvals,
  own_execution,
  // `api.inside_run`.
  refused,
  // Refused by the operation itself, and the attempt is told and in the audit trail.
  reported,
};
REEVE_DESCRIBE_ENUM(Inside, unsaid, anyone, starts, own_run, own_approval, own_approvals, own_execution, refused,
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
  Inside inside = Inside::unsaid;
  std::string_view summary;
  Scope scope = Scope::read;
  std::vector<Parameter> query = {};
  // The schema of the body; null when there is none.
  base::Value body = {};
  std::vector<Reply> replies = {};
  // Codes of refusals beside those that everything may be answered with.
  std::vector<std::string_view> errors = {};
  Keeping keeping = Keeping::none;
  // One thing by itself: its answer carries an ETag.
  bool is_tagged = false;
};

// One file for each area.
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
// "/api/runs/{id}" as a route has it: "/api/runs/*".
std::string route_path(const Operation& operation);
const Operation* find_operation(std::string_view method, std::string_view route_path);

// The codes that it may be refused with, those of every request included.
std::vector<std::string> error_codes(const Operation& operation);

// OpenAPI 3.1.
base::Value openapi_document();

// Words for the tables.
Parameter limit_parameter();
Parameter cursor_parameter();
Parameter flag_parameter(std::string_view name, std::string_view about);
// Whose config and files are meant.
Parameter project_parameter();
Parameter text_parameter(std::string_view name, std::string_view about);
Parameter integer_parameter(std::string_view name, std::int64_t least, std::int64_t most, std::string_view about);
Parameter duration_parameter(std::string_view name, std::string_view about);
// "a,b": words of an enum.
Parameter words_parameter(std::string_view name, const std::vector<std::string>& words, std::string_view about);
// `{items, next_cursor}` of that under a name of its own.
base::Value page_of(json::Schemas& schemas, std::string_view name, base::Value item);
// An object whose members may all be left out.
base::Value optional_members(base::Value::Object properties);

}  // namespace reeve::server
