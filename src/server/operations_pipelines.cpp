#include "server/operations.h"
#include "wire/pipeline_record.h"
#include "wire/pipeline_request.h"

// /api/pipelines as it is promised (PIP-2).
namespace reeve::server {

namespace {

using base::Value;

struct Act {
  std::string_view path;
  std::string_view name;
  std::string_view summary;
  Scope scope;
  Keeping keeping;
};

Operation make(const Act& act, const Value& pipeline) {
  return {.method = "POST",
          .path = act.path,
          .name = act.name,
          .inside = Inside::reported,
          .summary = act.summary,
          .scope = act.scope,
          .body = optional_members({{"comment", json::string_schema()}, {"decided_by", json::string_schema()}}),
          .replies = {{200, pipeline}},
          .errors = {"pipeline.not_found", "pipeline.not_waiting", "approval.already_resolved", "approval.expired",
                     "approval.inside_run", "execution.inside_run", "execution.over", "api.peer_gone",
                     "approval.choice_needed"},
          .keeping = act.keeping};
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
       .inside = Inside::reported,
       .summary = "Starts one of the project's pipelines",
       .scope = Scope::operate,
       .body = schemas.of_request<wire::PipelineRequest>({"pipeline", "prompt"}),
       .replies = {{201, started}},
       .errors = {"pipeline.not_found", "pipeline.no_file", "pipeline.invalid", "config.invalid", "project.moved",
                  "execution.inside_run", "api.peer_gone", "git.no_commits", "git.unsafe_folder", "git.missing",
                  "run.unknown_tool", "run.headless_unsupported", "run.no_command", "node.no_tool", "node.too_long"},
       .keeping = Keeping::change_then_answer},
      {.method = "GET",
       .path = "/api/pipelines",
       .name = "listPipelines",
       .inside = Inside::refused,
       .summary = "Newest first, without their steps",
       .query = {words_parameter("status", base::spellings<model::PipelineStatus>(), "only those"),
                 text_parameter("pipeline", "only those of that name"), limit_parameter(), cursor_parameter()},
       .replies = {{200, page_of(schemas, "PipelinePage", summary)}}},
      {.method = "GET",
       .path = "/api/pipelines/{id}",
       .name = "getPipeline",
       .inside = Inside::own_execution,
       .summary = "One pipeline with its steps",
       .replies = {{200, pipeline}},
       .errors = {"pipeline.not_found"},
       .is_tagged = true},
      make({"/api/pipelines/{id}/approve", "approvePipeline", "Yes at the approval step that it waits at (PIP-3)",
            Scope::approve, Keeping::change_then_answer},
           pipeline),
      make({"/api/pipelines/{id}/reject", "rejectPipeline", "No: it has failed for good", Scope::approve,
            Keeping::change_then_answer},
           pipeline),
      make({"/api/pipelines/{id}/abort", "abortPipeline", "Ends it", Scope::operate, Keeping::answer}, pipeline)};
}

}  // namespace reeve::server
