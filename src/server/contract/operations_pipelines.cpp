#include "server/contract/operations.h"
#include "wire/pipeline_record.h"
#include "wire/pipeline_request.h"

// Contract of /api/pipelines (PIP-2).
namespace reeve::server {

namespace {

using base::Value;

struct Act {
  std::string_view path;
  std::string_view name;
  std::string_view summary;
  Scope scope;
  IdempotencyMode idempotency;
};

Operation make(const Act& act, const Value& pipeline) {
  return {.method = "POST",
          .path = act.path,
          .name = act.name,
          .inside = InRunAccess::reported,
          .summary = act.summary,
          .scope = act.scope,
          .body = optional_members({{"comment", json::string_schema()}, {"decided_by", json::string_schema()}}),
          .replies = {{200, pipeline}},
          .errors = {"pipeline.not_found", "pipeline.not_waiting", "approval.already_resolved", "approval.expired",
                     "approval.inside_run", "execution.inside_run", "execution.over", "api.peer_gone",
                     "approval.choice_needed"},
          .idempotency = act.idempotency};
}

}  // namespace

std::vector<Operation> pipeline_operations(json::Schemas& schemas) {
  const Value pipeline = schemas.of<wire::PipelineRecord>();
  const Value started = schemas.with(pipeline, "StartedPipeline", {{"dirty", schemas.of<std::vector<std::string>>()}});
  const Value summary = schemas.without(pipeline, "PipelineSummary", {"steps", "prompt", "inputs", "approval_id"});
  return {
      {.method = "POST",
       .path = "/api/pipelines",
       .name = "startPipeline",
       .inside = InRunAccess::reported,
       .summary = "Start one of the project's pipelines",
       .scope = Scope::operate,
       .body = schemas.of_request<wire::PipelineRequest>({"pipeline", "prompt"}),
       .replies = {{201, started}},
       .errors = {"pipeline.not_found", "pipeline.no_file", "pipeline.invalid", "config.invalid", "project.moved",
                  "execution.inside_run", "api.peer_gone", "git.no_commits", "git.unsafe_folder", "git.missing",
                  "run.unknown_tool", "run.headless_unsupported", "run.no_command", "node.no_tool", "node.too_long"},
       .idempotency = IdempotencyMode::change_then_answer},
      {.method = "GET",
       .path = "/api/pipelines",
       .name = "listPipelines",
       .inside = InRunAccess::refused,
       .summary = "List pipelines, newest first, without steps",
       .query = {words_parameter("status", base::spellings<model::PipelineStatus>(),
                                 "only pipelines with these statuses"),
                 text_parameter("pipeline", "only pipelines with this name"), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "PipelinePage", summary)}}},
      {.method = "GET",
       .path = "/api/pipelines/{id}",
       .name = "getPipeline",
       .inside = InRunAccess::own_execution,
       .summary = "Get a pipeline with its steps",
       .replies = {{200, pipeline}},
       .errors = {"pipeline.not_found"},
       .is_tagged = true},
      make({"/api/pipelines/{id}/approve", "approvePipeline", "Approve the step at which the pipeline waits (PIP-3)",
            Scope::approve, IdempotencyMode::change_then_answer},
           pipeline),
      make({"/api/pipelines/{id}/reject", "rejectPipeline",
            "Reject the step at which the pipeline waits; the pipeline fails permanently", Scope::approve,
            IdempotencyMode::change_then_answer},
           pipeline),
      make({"/api/pipelines/{id}/abort", "abortPipeline", "Abort a pipeline", Scope::operate, IdempotencyMode::answer},
           pipeline)};
}

}  // namespace reeve::server
