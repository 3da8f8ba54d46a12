#include <limits>

#include "model/run.h"
#include "server/operations.h"
#include "wire/run_request.h"

// /api/runs as it is promised.
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
           .inside = Inside::own_run,
           .summary = "Ends its whole tree; `kill`: without asking it first (RUN-15)",
           .scope = Scope::operate,
           .body = optional_members({{"reason", json::string_schema()}, {"kill", boolean}}),
           .replies = {{200, run}},
           .errors = {"run.not_found", "run.not_running", "run.illegal_move", "run.not_here", "run.inside_run",
                      "api.peer_gone"},
           .keeping = Keeping::answer},
          {.method = "POST",
           .path = "/api/runs/{id}/input",
           .name = "typeIntoRun",
           .inside = Inside::reported,
           .summary = "What it reads from its standard input or terminal; `text`, or bytes as `base64`",
           // And `approve`: see may_type().
           .scope = Scope::operate,
           .body = input_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.no_input", "approval.inside_run", "api.peer_gone"},
           .keeping = Keeping::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/resize",
           .name = "resizeRun",
           .inside = Inside::own_run,
           .summary = "The size of its terminal",
           .scope = Scope::operate,
           .body = resize_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.inside_run", "api.peer_gone"},
           .keeping = Keeping::memory},
          {.method = "POST",
           .path = "/api/runs/{id}/signal",
           .name = "signalRun",
           .inside = Inside::own_run,
           .summary = "A signal to its process",
           .scope = Scope::operate,
           .body = signal_body(),
           .replies = {{200, nothing()}},
           .errors = {"run.not_found", "run.not_running", "run.inside_run", "api.peer_gone"},
           .keeping = Keeping::memory}};
}

}  // namespace

std::vector<Operation> run_operations(json::Schemas& schemas) {
  const Value run = schemas.of<model::Run>();
  std::vector<Operation> made = {
      {.method = "POST",
       .path = "/api/runs",
       .name = "startRun",
       .inside = Inside::starts,
       .summary = "Starts a supervised run of a tool",
       .scope = Scope::operate,
       .body = schemas.of_request<wire::RunRequest>({"cwd"}),
       .replies = {{201, run}},
       .errors = {"run.bad_request", "run.no_command", "run.unknown_tool", "run.headless_unsupported",
                  "run.sandbox_unavailable", "config.invalid", "api.not_from_a_sandbox", "execution.not_found",
                  "run.inside_run", "run.no_descriptors", "project.moved"},
       .keeping = Keeping::change},
      {.method = "GET",
       .path = "/api/runs",
       .name = "listRuns",
       .inside = Inside::refused,
       .summary = "Newest first",
       .query = {words_parameter("status", base::spellings<model::RunStatus>(), "only those"), limit_parameter(),
                 cursor_parameter()},
       .replies = {{200, page_of(schemas, "RunPage", run)}}},
      {.method = "GET",
       .path = "/api/runs/{id}",
       .name = "getRun",
       .inside = Inside::own_run,
       .summary = "One run",
       .replies = {{200, run}},
       .errors = {"run.not_found"},
       .is_tagged = true},
      {.method = "GET",
       .path = "/api/runs/{id}/wait",
       .name = "waitForRun",
       .inside = Inside::own_run,
       .summary = "The run when it is over, or as it is when the time is",
       .query = {duration_parameter("timeout", "at most 5m; 60s when nothing is said"),
                 flag_parameter("through_approvals", "0: also when it begins to wait for an answer")},
       .replies = {{200, run}},
       .errors = {"run.not_found"}},
      {.method = "GET",
       .path = "/api/runs/{id}/output",
       .name = "readRunOutput",
       .inside = Inside::own_run,
       .summary = "What it printed, line by line and without secrets; or the frames as they lie in the files",
       .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the last"),
                 {"from", json::string_schema("^(-?[0-9]+|[0-9]+\\.[0-9]+)$"),
                  "a `next` that was given; less than 0: so many bytes before the end"},
                 flag_parameter("follow", "1: goes on until the attempt is over"),
                 {"format", json::word_schema({"json", "frames"}), "json when nothing is said"}},
       .replies = {{200, output_line(schemas), "application/x-ndjson"},
                   {200, json::string_schema(), "application/vnd.reeve.frames"}},
       .errors = {"run.not_found", "output.not_found"}},
      {.method = "GET",
       .path = "/api/runs/{id}/terminal",
       .name = "attachToRun",
       .inside = Inside::reported,
       .summary = "A WebSocket: what it prints as it is, what is typed, its size, its end (docs/EVENTS.md)",
       .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the last"),
                 {"from", json::string_schema("^-?[0-9]+$"),
                  "a position in its output; less than 0: so many bytes before the end"}},
       .replies = {{101, Value()}},
       .errors = {"run.not_found", "output.not_found", "api.upgrade_required", "http.bad_upgrade",
                  "approval.inside_run", "api.peer_gone"}}};
  for (Operation& act : acts(schemas)) made.push_back(std::move(act));
  return made;
}

}  // namespace reeve::server
