#include <limits>

#include "model/run.h"
#include "server/contract/operations.h"
#include "wire/run_request.h"

// Contract of /api/runs.
namespace reeve::server {

namespace {

using base::Value;

Value output_line(json::Schemas& schemas) {
  Value whole = schemas.of<std::int64_t>();
  return schemas.add("OutputLine", json::object_schema({{"attempt", whole},
                                                        {"stream", json::word_schema({"stdout", "stderr"})},
                                                        {"offset", whole},
                                                        {"next", json::string_schema("^[0-9]+\\.[0-9]+$")},
                                                        {"at", schemas.of<base::WallTime>()},
                                                        {"partial", schemas.of<bool>()},
                                                        {"text", json::string_schema()}},
                                                       {"attempt", "stream", "offset", "next", "at", "text"}));
}

Value input_body() { return optional_members({{"text", json::string_schema()}, {"base64", json::string_schema()}}); }

Value resize_body() {
  Value cells = integer_parameter("", 1, 1'000, "").schema;
  return json::object_schema({{"rows", cells}, {"columns", cells}}, {"rows", "columns"});
}

Value signal_body() {
  return json::object_schema(
      {{"signal", json::string_schema("^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|TERM|STOP|CONT|TSTP|WINCH)$")}}, {"signal"});
}

Value nothing() { return json::object_schema({}, {}); }

std::vector<Operation> acts(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  const Value boolean = schemas.of<bool>();
  return {{.method = "POST",
           .path = "/api/runs/{id}/cancel",
           .name = "cancelRun",
           .inside = InRunAccess::own_run,
           .summary = "Cancel a run: end its whole process tree; `kill`: without a grace period (RUN-15)",
           .scope = Scope::operate,
           .body = optional_members({{"reason", json::string_schema()}, {"kill", boolean}}),
           .replies = {{200, run}},
           .errors = {"run.not_found", "run.not_running", "run.illegal_move", "run.not_here", "run.inside_run",
                      "api.peer_gone"},
           .idempotency = IdempotencyMode::answer},
          {.method = "POST",
           .path = "/api/runs/{id}/input",
           .name = "typeIntoRun",
           .inside = InRunAccess::reported,
           .summary = "Send input to the run's standard input or terminal: `text`, or bytes as `base64`",
           // Plus `approve`: see may_type().
           .scope = Scope::operate,
           .body = input_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.no_input", "approval.inside_run", "api.peer_gone"},
           .idempotency = IdempotencyMode::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/resize",
           .name = "resizeRun",
           .inside = InRunAccess::own_run,
           .summary = "Resize the run's terminal",
           .scope = Scope::operate,
           .body = resize_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.inside_run", "api.peer_gone"},
           .idempotency = IdempotencyMode::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/signal",
           .name = "signalRun",
           .inside = InRunAccess::own_run,
           .summary = "Send a signal to the run's process",
           .scope = Scope::operate,
           .body = signal_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.inside_run", "api.peer_gone"},
           .idempotency = IdempotencyMode::memory}};
}

}  // namespace

std::vector<Operation> run_operations(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  std::vector<Operation> made = {
      {.method = "POST",
       .path = "/api/runs",
       .name = "startRun",
       .inside = InRunAccess::starts,
       .summary = "Start a supervised run of a tool",
       .scope = Scope::operate,
       .body = schemas.of_request<wire::RunRequest>({"cwd"}),
       .replies = {{201, run}},
       .errors = {"run.bad_request", "run.no_command", "run.unknown_tool", "run.headless_unsupported",
                  "run.sandbox_unavailable", "config.invalid", "api.not_from_a_sandbox", "execution.not_found",
                  "run.inside_run", "run.no_descriptors", "project.moved"},
       .idempotency = IdempotencyMode::change},
      {.method = "GET",
       .path = "/api/runs",
       .name = "listRuns",
       .inside = InRunAccess::refused,
       .summary = "List runs, newest first",
       .query = {words_parameter("status", base::spellings<model::RunStatus>(), "only runs with these statuses"),
                 limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "RunPage", run)}}},
      {.method = "GET",
       .path = "/api/runs/{id}",
       .name = "getRun",
       .inside = InRunAccess::own_run,
       .summary = "Get a run",
       .replies = {{200, run}},
       .errors = {"run.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/runs/{id}/wait",
       .name = "waitForRun",
       .inside = InRunAccess::own_run,
       .summary = "Wait until the run ends or `timeout` passes; returns it either way",
       .query = {duration_parameter("timeout", "default 60s, at most 5m"),
                 flag_parameter("through_approvals", "0: also return when it starts to wait for an answer")},
       .replies = {{200, run}},
       .errors = {"run.not_found"}},
      {.method = "GET",
       .path = "/api/runs/{id}/output",
       .name = "readRunOutput",
       .inside = InRunAccess::own_run,
       .summary = "Read the run's output, line by line with secrets redacted, or as stored frames",
       .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the latest"),
                 {"from", json::string_schema("^(-?[0-9]+|[0-9]+\\.[0-9]+)$"),
                  "a `next` from an earlier response; negative: that many bytes before the end"},
                 flag_parameter("follow", "1: keep streaming until the attempt ends"),
                 {"format", json::word_schema({"json", "frames"}), "default: json"}},
       .replies = {{200, output_line(schemas), "application/x-ndjson"},
                   {200, json::string_schema(), "application/vnd.reeve.frames"}},
       .errors = {"run.not_found", "output.not_found"}},
      {.method = "GET",
       .path = "/api/runs/{id}/terminal",
       .name = "attachToRun",
       .inside = InRunAccess::reported,
       .summary = "Attach to the run over a WebSocket: raw output, input, terminal size and end (docs/EVENTS.md)",
       .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the latest"),
                 {"from", json::string_schema("^-?[0-9]+$"),
                  "a position in the output; negative: that many bytes before the end"}},
       .replies = {{101, Value()}},
       .errors = {"run.not_found", "output.not_found", "api.upgrade_required", "http.bad_upgrade",
                  "approval.inside_run", "api.peer_gone"}}};
  for (Operation& act : acts(schemas)) made.push_back(std::move(act));
  return made;
}

}  // namespace reeve::server
