#include "server/resources/pipelines.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "json/decode.h"
#include "json/describe.h"
#include "json/encode.h"
#include "project/pipelines.h"
#include "runtime/executions/execution_driver.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/listing.h"
#include "server/resources/own_project.h"
#include "spec/pipeline_graph.h"
#include "spec/workflow_file.h"
#include "store/executions.h"
#include "wire/pipeline_record.h"
#include "wire/pipeline_request.h"

// /api/pipelines (PIP-2)
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::ExecutionId;
using base::Value;
using engine::Answer;
using model::Execution;
using model::PipelineStatus;
using wire::PipelineRecord;

// Agents get it inside one command-line argument, after other text of their prompt.
constexpr std::size_t longest_prompt = 64UL * 1024;

ExecutionId pipeline_id(const Exchange& exchange) {
  const auto id = ExecutionId::parse(exchange.parts.at(0));
  if (!id) throw runtime::pipeline_not_found(base::quoted(exchange.parts.at(0)));
  return *id;
}

// The current record, with additional members.
void send_record(SharedExchange exchange, ExecutionId id, int status, std::optional<base::Member> more = {}) {
  exchange->daemon.queries().get_pipeline(
      id, [exchange, status, more = std::move(more)](std::expected<PipelineRecord, Error> record) {
        if (!record) return exchange->refuse(record.error());
        Value document = json::to_value(*record);
        if (more) document.set(more->key, more->value);
        exchange->send(status, document);
      });
}

wire::PipelineRequest decode_request(const Exchange& exchange) {
  auto decoded = json::from_value<wire::PipelineRequest>(exchange.body());
  if (!decoded) throw Error(ErrorCode::api_bad_request, decoded.error());
  wire::PipelineRequest request = std::move(*decoded);
  if (request.pipeline.empty())
    throw Error(ErrorCode::api_bad_request, "`pipeline` is required", "name one from pipelines.yaml");
  if (base::trim(request.prompt).empty()) {
    throw Error(ErrorCode::api_bad_request, "`prompt` is required: the task to perform");
  }
  const bool has_nul = request.prompt.find('\0') != std::string::npos;
  if (request.prompt.size() > longest_prompt || has_nul) {
    throw Error(ErrorCode::api_bad_request,
                fmt::format("`prompt` must be at most {} bytes, without NUL bytes", longest_prompt));
  }
  if (!request.inputs) request.inputs = Value::object();
  if (request.inputs->as_object() == nullptr) {
    throw Error(ErrorCode::api_bad_request, fmt::format("`inputs` must be an object, not {}", request.inputs->kind()));
  }
  if (request.inputs->find(spec::pipeline_prompt) != nullptr) {
    throw Error(ErrorCode::api_bad_request, "an input cannot be named `prompt`: every pipeline has one");
  }
  request.project = require_project(exchange, request.project).string();
  return request;
}

void create(SharedExchange exchange) {
  refuse_from_inside(exchange, "start a pipeline");
  const wire::PipelineRequest request = decode_request(*exchange);
  const model::Config config = load_config_around(*exchange, *request.project);
  const auto pipelines = project::load_pipelines(*request.project, &config, request.pipeline);
  if (!pipelines) {
    return exchange->refuse(ErrorCode::pipeline_invalid, "the pipelines are not valid", pipelines.error());
  }
  spec::PipelineGraph graph = spec::compile_pipeline(
      *pipelines, config, {.name = request.pipeline, .prompt = request.prompt, .inputs = *request.inputs});
  admit_folder(*request.project);
  runtime::ExecutionDriver::Start start{.execution = {.workflow = std::move(graph.workflow), .hash = {}},
                                        .settings = runtime::make_settings(config, *request.project),
                                        .idempotency = exchange->key};
  start.execution.hash = spec::hash_content(start.execution.workflow);
  start.execution.inputs = std::move(graph.seeds);
  start.settings.roles.merge(graph.roles);
  start.settings.environment = request.environment;
  start.settings.recorded_project = name_project(*request.project);
  using Started = runtime::ExecutionDriver::Started;
  exchange->daemon.driver().start(std::move(start), [exchange](std::expected<Started, Error> started) {
    if (!started) return exchange->refuse(started.error());
    send_record(exchange, started->execution, 201, base::Member{"dirty", json::to_value(started->dirty)});
  });
}

Value list_item(const Execution& execution) {
  Value item = json::to_value(wire::make_pipeline_summary(execution));
  std::erase_if(*item.as_object(), [](const base::Member& member) {
    return member.key == "steps" || member.key == "prompt" || member.key == "inputs" || member.key == "approval_id";
  });
  return item;
}

void list(SharedExchange exchange) {
  store::ExecutionFilter filter{.workflow_start = std::string(spec::pipeline_id_start),
                                .before = parse_cursor<ExecutionId>(*exchange),
                                .most = exchange->query_integer("limit", listed_by_default, 1, max_listed)};
  for (const PipelineStatus status : parse_words<PipelineStatus>(exchange->query("status"), "status", "statuses")) {
    filter.statuses.push_back(wire::execution_status(status));
  }
  filter.project = parse_project_filter(*exchange);
  if (const auto name = exchange->query("pipeline")) filter.workflow = spec::pipeline_workflow_id(*name);
  send_page(exchange, std::move(filter),
            Listing{&runtime::Queries::list_executions,
                    [](const Execution& execution) { return execution.execution_id; }, list_item});
}

void show(SharedExchange exchange) { send_record(exchange, pipeline_id(*exchange), 200); }

// The approval of the step at which the pipeline waits.
base::ApprovalId get_question(const PipelineRecord& pipeline) {
  if (pipeline.approval_id) return *pipeline.approval_id;
  const std::string id = pipeline.pipeline_id.text();
  const bool waits = pipeline.status == PipelineStatus::waiting_for_approval;
  throw Error(ErrorCode::pipeline_not_waiting,
              waits ? fmt::format("{} is waiting for an answer to one of its agents, not at an approval step", id)
                    : fmt::format("{} is {} and not waiting at an approval step", id, base::spell(pipeline.status)),
              waits ? "`reeve approvals` lists open questions"
              : pipeline.status == PipelineStatus::running
                  ? fmt::format("`reeve pipeline show {}` shows its steps; wait until it asks", id)
                  : "");
}

// The only entry point for decisions about a pipeline: that of its approval (APR-2, APR-12).
void decide(SharedExchange exchange, Answer::Word word) {
  const ExecutionId id = pipeline_id(*exchange);
  deny_in_run_caller(exchange, fmt::format("decide about {}", id.text()));
  const Value& body = exchange->body();
  runtime::Approvals::Decision decision;
  decision.answer.word = word;
  decision.answer.comment = find_text(body, "comment", longest_text);
  decision.answer.decided_by = exchange->actor();
  decision.answer.note = find_text(body, "decided_by", longest_name);
  decision.idempotency = exchange->key;
  exchange->daemon.queries().get_pipeline_once(
      id, exchange->key, [exchange, id, decision](const std::expected<std::optional<PipelineRecord>, Error>& pipeline) {
        if (!pipeline) return exchange->refuse(pipeline.error());
        // A repeated request: it was decided the first time.
        if (!*pipeline) return send_record(exchange, id, 200);
        exchange->go_on([&] {
          exchange->daemon.approvals().decide(get_question(**pipeline), decision,
                                              [exchange, id](const std::expected<model::Approval, Error>& decided) {
                                                if (!decided) return exchange->refuse(decided.error());
                                                send_record(exchange, id, 200);
                                              });
        });
      });
}

void approve(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::approve); }
void reject(SharedExchange exchange) { decide(std::move(exchange), Answer::Word::reject); }

void abort(SharedExchange exchange) {
  const ExecutionId id = pipeline_id(*exchange);
  refuse_from_inside(exchange, fmt::format("abort {}", id.text()));
  std::string reason = fmt::format("aborted by {}", exchange->actor());
  if (const auto why = find_text(exchange->body(), "comment", longest_text); why && !why->empty()) {
    reason += fmt::format(": {}", *why);
  }
  exchange->daemon.queries().check_pipeline(id, [exchange, reason](const std::expected<ExecutionId, Error>& found) {
    if (!found) return exchange->refuse(found.error());
    exchange->daemon.driver().cancel(*found, reason, [exchange](std::expected<ExecutionId, Error> cancelled) {
      if (!cancelled) return exchange->refuse(cancelled.error());
      send_record(exchange, *cancelled, 200);
    });
  });
}

struct Change {
  std::string_view path;
  void (&handle)(SharedExchange exchange);
  std::string_view name;
  std::string_view summary;
  Scope scope;
  IdempotencyMode idempotency;
};

Operation make_operation(const Change& change, const Value& pipeline) {
  return {
      .method = "POST",
      .path = change.path,
      .handle = change.handle,
      .name = change.name,
      .inside = InRunAccess::reported,
      .summary = change.summary,
      .scope = change.scope,
      .body = optional_members({{"comment", json::string_schema()}, {"decided_by", json::string_schema()}}),
      .replies = {{200, pipeline}},
      .errors = {ErrorCode::pipeline_not_found, ErrorCode::pipeline_not_waiting, ErrorCode::approval_already_resolved,
                 ErrorCode::approval_expired, ErrorCode::approval_inside_run, ErrorCode::execution_inside_run,
                 ErrorCode::execution_over, ErrorCode::api_peer_gone, ErrorCode::approval_choice_needed},
      .idempotency = change.idempotency};
}

}  // namespace

void refuse_rejected_pipeline(const Execution& execution) {
  if (!spec::is_pipeline(execution.workflow_id)) return;
  const bool was_rejected = std::ranges::any_of(execution.nodes, [](const model::NodeExecution& node) {
    return node.type == model::NodeType::human && node.status == model::NodeStatus::failed;
  });
  if (!was_rejected) return;
  throw Error(ErrorCode::pipeline_rejected,
              fmt::format("{} was rejected and cannot be retried", execution.execution_id.text()),
              "start it again: reeve pipeline start NAME --prompt P");
}

std::vector<Operation> pipeline_operations(json::Schemas& schemas) {
  const Value pipeline = schemas.of<wire::PipelineRecord>();
  const Value started = schemas.with(pipeline, "StartedPipeline", {{"dirty", schemas.of<std::vector<std::string>>()}});
  const Value summary = schemas.without(pipeline, "PipelineSummary", {"steps", "prompt", "inputs", "approval_id"});
  return {{.method = "POST",
           .path = "/api/pipelines",
           .handle = create,
           .name = "startPipeline",
           .inside = InRunAccess::reported,
           .summary = "Start one of the project's pipelines",
           .scope = Scope::operate,
           .body = schemas.of_request<wire::PipelineRequest>({"pipeline", "prompt"}),
           .replies = {{201, started}},
           .errors = {ErrorCode::pipeline_not_found, ErrorCode::pipeline_no_file, ErrorCode::pipeline_invalid,
                      ErrorCode::config_invalid, ErrorCode::project_moved, ErrorCode::execution_inside_run,
                      ErrorCode::api_peer_gone, ErrorCode::git_no_commits, ErrorCode::git_unsafe_folder,
                      ErrorCode::git_missing, ErrorCode::run_unknown_tool, ErrorCode::run_headless_unsupported,
                      ErrorCode::run_no_command, ErrorCode::node_no_tool, ErrorCode::node_too_long},
           .idempotency = IdempotencyMode::change_then_answer},
          {.method = "GET",
           .path = "/api/pipelines",
           .handle = list,
           .name = "listPipelines",
           .inside = InRunAccess::refused,
           .summary = "List pipelines, newest first, without steps",
           .query = {words_parameter("status", base::spellings<model::PipelineStatus>(),
                                     "only pipelines with these statuses"),
                     text_parameter("pipeline", "only pipelines with this name"), project_filter(), limit_parameter(),
                     cursor_parameter()},
           .replies = {{200, page_of(schemas, "PipelinePage", summary)}}},
          {.method = "GET",
           .path = "/api/pipelines/{id}",
           .handle = show,
           .name = "getPipeline",
           .inside = InRunAccess::own_execution,
           .summary = "Get a pipeline with its steps",
           .replies = {{200, pipeline}},
           .errors = {ErrorCode::pipeline_not_found},
           .is_tagged = true},
          make_operation({"/api/pipelines/{id}/approve", approve, "approvePipeline",
                          "Approve the step at which the pipeline waits (PIP-3)", Scope::approve,
                          IdempotencyMode::change_then_answer},
                         pipeline),
          make_operation({"/api/pipelines/{id}/reject", reject, "rejectPipeline",
                          "Reject the step at which the pipeline waits; the pipeline fails permanently", Scope::approve,
                          IdempotencyMode::change_then_answer},
                         pipeline),
          make_operation({"/api/pipelines/{id}/abort", abort, "abortPipeline", "Abort a pipeline", Scope::operate,
                          IdempotencyMode::answer},
                         pipeline)};
}

}  // namespace reeve::server
