#include "store/executions.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "model/execution.h"
#include "project/workflows.h"
#include "runtime/executions/execution_driver.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/request/long_poll.h"
#include "server/resources/contract.h"
#include "server/resources/execution_parameters.h"
#include "server/resources/execution_record.h"
#include "server/resources/listing.h"
#include "server/resources/own_project.h"
#include "wire/execution_request.h"

// /api/executions
namespace reeve::server {

namespace {

store::NodeDetail detail_of(const Exchange& exchange) {
  return exchange.query("outputs").value_or("1") == "0" ? store::NodeDetail::brief : store::NodeDetail::all;
}

}  // namespace

void send_execution(SharedExchange exchange, base::ExecutionId id, int status, std::optional<base::Member> more) {
  exchange->daemon.queries().get_execution(
      id, detail_of(*exchange),
      [exchange, status, more = std::move(more)](std::expected<model::Execution, base::Error> execution) {
        if (!execution) return exchange->refuse(execution.error());
        base::Value record = json::to_value(*execution);
        if (more) record.set(more->key, more->value);
        exchange->send(status, record);
      });
}

std::function<void(std::expected<base::ExecutionId, base::Error>)> answer_with_execution(SharedExchange exchange) {
  return [exchange](std::expected<base::ExecutionId, base::Error> id) {
    if (!id) return exchange->refuse(id.error());
    send_execution(exchange, *id, 200);
  };
}

namespace {

using base::Error;
using base::ErrorCode;
using base::ExecutionId;
using base::Value;
using model::Execution;
using store::NodeDetail;

constexpr auto finish_pause = std::chrono::milliseconds(20);
constexpr std::size_t longest_label = 255;
constexpr std::size_t longest_reason = 4'096;

void check_metadata(const std::map<std::string, std::string>& metadata) {
  constexpr std::size_t most = 64;
  if (metadata.size() > most) {
    throw Error(ErrorCode::api_bad_request, fmt::format("`metadata` can have at most {} members", most));
  }
  for (const auto& [key, value] : metadata) {
    const bool has_nul = key.find('\0') != std::string::npos || value.find('\0') != std::string::npos;
    if (key.empty() || key.size() > longest_label || value.size() > longest_reason || has_nul) {
      throw Error(ErrorCode::api_bad_request,
                  fmt::format("names in `metadata` must be 1 to {} bytes and values at most {}, without NUL bytes",
                              longest_label, longest_reason));
    }
  }
}

wire::ExecutionRequest decode_request(const Exchange& exchange) {
  auto decoded = json::from_value<wire::ExecutionRequest>(exchange.body());
  if (!decoded) throw Error(ErrorCode::api_bad_request, decoded.error());
  wire::ExecutionRequest request = std::move(*decoded);
  if (request.source.has_value() == request.workflow.has_value()) {
    throw Error(ErrorCode::api_bad_request, "exactly one of `source` and `workflow` is required",
                "send the text of a workflow, or the name of one in the project");
  }
  if (request.inputs && request.inputs->as_object() == nullptr) {
    throw Error(ErrorCode::api_bad_request, fmt::format("`inputs` must be an object, not {}", request.inputs->kind()));
  }
  const bool is_named = !request.project.empty();
  request.project = require_project(exchange, is_named ? std::optional(request.project) : std::nullopt).string();
  if (request.file && !std::filesystem::path(*request.file).is_absolute()) {
    throw Error(ErrorCode::api_bad_request, "`file` must be an absolute path");
  }
  if (request.source && request.source->size() > base::limits::spec_file_bytes) {
    throw Error(ErrorCode::api_bad_request, "`source` exceeds the size limit for workflows");
  }
  const std::string& label = request.label.value_or("");
  if (label.size() > longest_label || label.find('\0') != std::string::npos) {
    throw Error(ErrorCode::api_bad_request,
                fmt::format("`label` must be at most {} bytes, without NUL bytes", longest_label));
  }
  const std::string& phase = request.phase_name.value_or("");
  if (phase.size() > longest_label || phase.find('\0') != std::string::npos) {
    throw Error(ErrorCode::api_bad_request,
                fmt::format("`phase_name` must be at most {} bytes, without NUL bytes", longest_label));
  }
  check_metadata(request.metadata);
  return request;
}

project::WorkflowPlace place_of(const wire::ExecutionRequest& request) {
  const std::filesystem::path project = request.project;
  if (request.workflow) return project::find_workflow(project, *request.workflow);
  project::WorkflowPlace place{
      .source = std::make_shared<const spec::Source>(request.file.value_or("<workflow>"), *request.source),
      .project = project,
      .folder = {}};
  if (request.file) place.folder = std::filesystem::path(*request.file).parent_path();
  return place;
}

ErrorCode code_of(model::InputMistake::Kind kind) {
  switch (kind) {
    case model::InputMistake::Kind::unknown:
      return ErrorCode::flow_unknown_input;
    case model::InputMistake::Kind::missing:
      return ErrorCode::flow_missing_input;
    case model::InputMistake::Kind::bad_value:
      break;
  }
  return ErrorCode::flow_bad_input;
}

// GRF-8: what the workflow declares is checked before anything starts. Without a declaration, anything is accepted.
base::Result<Value> read_inputs(const model::Workflow& workflow, const wire::ExecutionRequest& request) {
  Value given = request.inputs.value_or(Value::object());
  if (!workflow.inputs) return given;
  auto checked = model::check_inputs(*workflow.inputs, given, model::Undeclared::refuse);
  if (checked) return std::move(*checked);
  base::Problems problems;
  for (model::InputMistake& mistake : checked.error()) {
    const bool is_missing = mistake.kind == model::InputMistake::Kind::missing;
    problems.add({.code = code_of(mistake.kind),
                  .message = std::move(mistake.message),
                  .hint = std::move(mistake.hint),
                  .fix = is_missing ? fmt::format("--input {}=…", mistake.name) : std::string()});
  }
  return std::unexpected(std::move(problems));
}

void create(SharedExchange exchange) {
  refuse_from_inside(exchange, "start a workflow");
  const wire::ExecutionRequest request = decode_request(*exchange);
  const model::Config config = load_config_around(*exchange, request.project);
  auto gathered = project::gather_workflow(place_of(request), config);
  if (!gathered) return exchange->refuse(ErrorCode::flow_invalid, "the workflow is not valid", gathered.error());
  auto inputs = read_inputs(gathered->file.workflow, request);
  if (!inputs) {
    return exchange->refuse(ErrorCode::flow_invalid_inputs, "the inputs do not match the workflow", inputs.error());
  }
  admit_folder(request.project);
  runtime::ExecutionDriver::Start start{
      .execution = {.workflow = std::move(gathered->file.workflow), .hash = gathered->file.content_hash},
      .settings = runtime::make_settings(config, request.project),
      .idempotency = exchange->key};
  for (auto& [name, file] : gathered->subgraphs) {
    start.execution.subgraphs.emplace(
        name, ledger::NewExecution::Subgraph{.hash = file.content_hash, .workflow = std::move(file.workflow)});
  }
  start.execution.inputs = std::move(*inputs);
  start.execution.label = request.label;
  start.execution.phase_name = request.phase_name;
  start.execution.metadata = request.metadata;
  start.settings.apply = start.execution.workflow.config.apply;
  start.settings.environment = request.environment;
  start.settings.recorded_project = name_project(request.project);
  using Started = runtime::ExecutionDriver::Started;
  exchange->daemon.driver().start(std::move(start), [exchange](std::expected<Started, Error> started) {
    if (!started) return exchange->refuse(started.error());
    // Uncommitted changes are not included, and the caller must know that.
    send_execution(exchange, started->execution, 201, base::Member{"dirty", json::to_value(started->dirty)});
  });
}

// Without the members that only single records have.
Value list_item(const Execution& execution) {
  Value item = json::to_value(execution);
  std::erase_if(*item.as_object(), [](const base::Member& member) {
    return member.key == "nodes" || member.key == "inputs" || member.key == "config";
  });
  return item;
}

void list(SharedExchange exchange) {
  send_page(exchange,
            store::ExecutionFilter{
                .statuses = parse_words<model::ExecutionStatus>(exchange->query("status"), "status", "statuses"),
                .label = exchange->query("label"),
                .workflow = exchange->query("workflow"),
                .before = parse_cursor<ExecutionId>(*exchange),
                .project = parse_project_filter(*exchange),
                .with_parts = exchange->query("parts").value_or("1") != "0",
                .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)},
            Listing{&runtime::Queries::list_executions,
                    [](const Execution& execution) { return execution.execution_id; }, list_item});
}

void show(SharedExchange exchange) { send_execution(exchange, exchange->execution_id(), 200); }

void cancel(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("cancel {}", id.text()));
  const Value& body = exchange->body();
  std::string reason = fmt::format("cancelled by {}", exchange->actor());
  if (const Value* why = body.find("reason"); why != nullptr && !why->is_null()) {
    if (why->as_string() == nullptr) throw Error(ErrorCode::api_bad_request, "`reason` must be a string");
    const std::string_view words = base::truncate_utf8(*why->as_string(), longest_reason);
    if (!words.empty()) reason += fmt::format(": {}", words);
  }
  exchange->daemon.driver().cancel(id, std::move(reason), answer_with_execution(exchange));
}

void pause(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("pause {}", id.text()));
  exchange->daemon.driver().pause(id, true, exchange->actor(), answer_with_execution(exchange));
}

void resume(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("resume {}", id.text()));
  exchange->daemon.driver().pause(id, false, exchange->actor(), answer_with_execution(exchange));
}

// A client waiting for the end of an execution. Reads the record when it may have changed, one read at a time.
struct ExecutionWait : std::enable_shared_from_this<ExecutionWait> {
  SharedExchange exchange;
  ExecutionId id;
  bool through_approvals;
  std::shared_ptr<LongPoll> poll;
  bool is_reading = false;
  bool must_read_again = false;

  ExecutionWait(SharedExchange asked, ExecutionId execution, bool through)
      : exchange(std::move(asked)),
        id(execution),
        through_approvals(through),
        poll(LongPoll::begin(exchange->daemon.loop(), *exchange->responder)) {}

  void begin(base::Milliseconds timeout) {
    // Subscribe before reading, so that a change in between is not missed.
    poll->keep(exchange->daemon.follow_execution(id, [self = shared_from_this()] { self->read(); }));
    poll->expire_after(timeout, [exchange = exchange] { show(exchange); });
    read();
  }

  void read() {
    if (poll->is_over()) return;
    must_read_again = is_reading;
    if (is_reading) return;
    is_reading = true;
    exchange->daemon.queries().get_execution(
        id, NodeDetail::none,
        [self = shared_from_this()](const std::expected<Execution, Error>& execution) { self->on_read(execution); });
  }

  void on_read(const std::expected<Execution, Error>& execution) {
    is_reading = false;
    if (poll->is_over()) return;
    if (!execution) {
      poll->end();
      return exchange->refuse(execution.error());
    }
    const model::ExecutionStatus status = execution->status;
    const bool waits = status == model::ExecutionStatus::waiting_approval;
    const bool is_finished = model::is_over(status) && !exchange->daemon.driver().is_finishing(id);
    if (is_finished || (waits && !through_approvals)) {
      poll->end();
      return show(exchange);
    }
    if (must_read_again) return read();
    // The work that follows the end is done shortly, but no notification is sent for it.
    if (model::is_over(status)) poll->read_after(finish_pause, [self = shared_from_this()] { self->read(); });
  }
};

void wait(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  const base::Milliseconds timeout = parse_poll_timeout(exchange->request);
  if (timeout.count() == 0) return show(exchange);
  const bool through = exchange->query("through_approvals").value_or("1") != "0";
  std::make_shared<ExecutionWait>(exchange, id, through)->begin(timeout);
}

struct Change {
  std::string_view path;
  void (&handle)(SharedExchange exchange);
  std::string_view name;
  std::string_view summary;
};

Operation make_operation(const Change& change, const Value& execution) {
  return {.method = "POST",
          .path = change.path,
          .handle = change.handle,
          .name = change.name,
          .inside = InRunAccess::reported,
          .summary = change.summary,
          .scope = Scope::operate,
          .query = {outputs_parameter()},
          .body = optional_members({{"reason", json::string_schema()}}),
          .replies = {{200, execution}},
          .errors = {ErrorCode::execution_not_found, ErrorCode::execution_over, ErrorCode::execution_not_failed,
                     ErrorCode::execution_is_part, ErrorCode::execution_imported, ErrorCode::execution_inside_run,
                     ErrorCode::pipeline_rejected, ErrorCode::api_peer_gone, ErrorCode::git_no_commits,
                     ErrorCode::git_missing},
          .idempotency = IdempotencyMode::answer};
}

// Those of this file.
std::vector<Operation> own_operations(json::Schemas& schemas) {
  const Value execution = schemas.of<model::Execution>();
  const Value started =
      schemas.with(execution, "StartedExecution", {{"dirty", schemas.of<std::vector<std::string>>()}});
  const Value summary = schemas.without(execution, "ExecutionSummary", {"nodes", "inputs", "config"});
  return {{.method = "POST",
           .path = "/api/executions",
           .handle = create,
           .name = "startExecution",
           .inside = InRunAccess::reported,
           .summary = "Start a workflow, given as text (`source`) or by its name in the project (`workflow`)",
           .scope = Scope::operate,
           .query = {outputs_parameter()},
           .body = schemas.of_request<wire::ExecutionRequest>({}),
           .replies = {{201, started}},
           .errors = {ErrorCode::flow_invalid,      ErrorCode::flow_invalid_inputs,
                      ErrorCode::flow_not_found,    ErrorCode::config_invalid,
                      ErrorCode::project_moved,     ErrorCode::execution_inside_run,
                      ErrorCode::api_peer_gone,     ErrorCode::git_no_commits,
                      ErrorCode::git_unsafe_folder, ErrorCode::git_missing,
                      ErrorCode::node_unknown_role, ErrorCode::node_no_tool,
                      ErrorCode::node_bad_folder,   ErrorCode::node_bad_template,
                      ErrorCode::node_gate_cycle,   ErrorCode::node_too_long,
                      ErrorCode::node_unknown_name, ErrorCode::node_unknown_gate,
                      ErrorCode::run_unknown_tool,  ErrorCode::run_headless_unsupported,
                      ErrorCode::run_no_command},
           .idempotency = IdempotencyMode::change_then_answer},
          {.method = "GET",
           .path = "/api/executions",
           .handle = list,
           .name = "listExecutions",
           .inside = InRunAccess::refused,
           .summary = "List executions, newest first, without nodes",
           .query = {words_parameter("status", base::spellings<model::ExecutionStatus>(),
                                     "only executions with these statuses"),
                     text_parameter("label", "only executions with this label"),
                     text_parameter("workflow", "only executions of the workflow with this id or name"),
                     project_filter(), flag_parameter("parts", "0: without the executions of subgraphs"),
                     limit_parameter(), cursor_parameter()},
           .replies = {{200, page_of(schemas, "ExecutionPage", summary)}}},
          {.method = "GET",
           .path = "/api/executions/{id}",
           .handle = show,
           .name = "getExecution",
           .inside = InRunAccess::own_execution,
           .summary = "Get an execution with its nodes",
           .query = {outputs_parameter()},
           .replies = {{200, execution}},
           .errors = {ErrorCode::execution_not_found},
           .is_tagged = true},
          {.method = "GET",
           .path = "/api/executions/{id}/wait",
           .handle = wait,
           .name = "waitForExecution",
           .inside = InRunAccess::own_execution,
           .summary = "Wait until the execution ends or `timeout` passes; returns it either way",
           .query = {duration_parameter("timeout", "default 60s, at most 5m"),
                     flag_parameter("through_approvals", "0: also return when it starts to wait for an answer"),
                     outputs_parameter()},
           .replies = {{200, execution}},
           .errors = {ErrorCode::execution_not_found}},
          make_operation({"/api/executions/{id}/cancel", cancel, "cancelExecution",
                          "Cancel an execution: end its runs and start no further nodes"},
                         execution),
          make_operation({"/api/executions/{id}/pause", pause, "pauseExecution",
                          "Pause an execution: stop its runs' processes and start no further nodes"},
                         execution),
          make_operation({"/api/executions/{id}/resume", resume, "resumeExecution",
                          "Let a paused execution and all of its runs continue"},
                         execution)};
}

}  // namespace

std::vector<Operation> execution_operations(json::Schemas& schemas) {
  std::vector<Operation> operations = own_operations(schemas);
  for (const auto make_more : {execution_retry_operations, execution_change_operations}) {
    std::ranges::move(make_more(schemas), std::back_inserter(operations));
  }
  return operations;
}

}  // namespace reeve::server
