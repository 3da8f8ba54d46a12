#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/describe.h"
#include "model/execution.h"
#include "project/workflows.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/queries.h"
#include "server/access/in_run_caller.h"
#include "server/access/project_policy.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/execution_parameters.h"
#include "server/resources/execution_record.h"
#include "server/resources/own_project.h"
#include "server/resources/pipelines.h"
#include "spec/pipeline_graph.h"

// Retrying a failed execution, as it is or corrected (GRF-14).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::ExecutionId;
using base::Value;
using model::Execution;

constexpr std::size_t longest_path = 4'096;

// STO-2: another program ran it, with unknown tools and files.
void refuse_imported(const Execution& execution) {
  const Value* origin = execution.config ? execution.config->find("imported_from") : nullptr;
  if (origin == nullptr || origin->as_string() == nullptr) return;
  throw Error(ErrorCode::execution_imported,
              fmt::format("{} was imported from {} and cannot be retried", execution.execution_id.text(),
                          base::quoted(*origin->as_string())),
              "start it again with `reeve flow run` or `reeve pipeline start`");
}

// The project folder that the execution was started in; empty if it is not on this machine.
std::filesystem::path project_of(const Execution& execution) {
  const Value* project = execution.config ? execution.config->find("project") : nullptr;
  if (project == nullptr || project->as_string() == nullptr) return {};
  std::error_code error;
  const std::filesystem::path folder = *project->as_string();
  return folder.is_absolute() && std::filesystem::is_directory(folder, error) ? folder : std::filesystem::path();
}

// The `source` of a correction, with the subgraphs that it names.
base::Result<project::GatheredWorkflow> gather_correction(const Exchange& exchange, const Execution& execution,
                                                          std::string source) {
  const auto file = find_text(exchange.body(), "file", longest_path);
  project::WorkflowPlace place{
      .source = std::make_shared<const spec::Source>(file.value_or("<workflow>"), std::move(source)),
      .project = {},
      .folder = {}};
  const std::filesystem::path project = project_of(execution);
  if (!project.empty()) place.project = project;
  const bool is_path = file && std::filesystem::path(*file).is_absolute();
  if (is_path && may_name_paths(exchange)) place.folder = std::filesystem::path(*file).parent_path();
  return project::gather_workflow(place, load_config_around(exchange, may_name_paths(exchange) ? project : ""));
}

// GRF-14: nothing for a plain retry.
std::optional<ledger::WorkflowCorrection> read_correction(const SharedExchange& exchange, const Execution& execution,
                                                          base::Problems& problems) {
  const Value* inputs = exchange->body().find("inputs");
  const bool has_inputs = inputs != nullptr && !inputs->is_null();
  auto source = find_text(exchange->body(), "source", base::limits::spec_file_bytes);
  if (!has_inputs && !source) return std::nullopt;
  ledger::WorkflowCorrection correction{.by = exchange->actor(), .hash = spec::hash_content};
  if (has_inputs) {
    if (inputs->as_object() == nullptr) throw Error(ErrorCode::api_bad_request, "`inputs` must be an object");
    correction.inputs = *inputs;
  }
  if (!source) return correction;
  auto gathered = gather_correction(*exchange, execution, std::move(*source));
  if (!gathered) {
    problems = std::move(gathered.error());
    return correction;
  }
  correction.workflow = std::move(gathered->file.workflow);
  for (auto& [name, file] : gathered->subgraphs) {
    correction.subgraphs.emplace(
        name, ledger::NewExecution::Subgraph{.hash = file.content_hash, .workflow = std::move(file.workflow)});
  }
  return correction;
}

void refuse_pipeline_correction(const Execution& execution) {
  if (!spec::is_pipeline(execution.workflow_id)) return;
  throw Error(ErrorCode::execution_not_correctable,
              fmt::format("{} is a pipeline, whose workflow is made from its steps", execution.execution_id.text()),
              "correct `.reeve/pipelines.yaml`, then start it again: reeve pipeline start");
}

void retry(SharedExchange exchange) {
  const ExecutionId id = exchange->execution_id();
  refuse_from_inside(exchange, fmt::format("retry {}", id.text()));
  exchange->daemon.queries().get_execution(
      id, store::NodeDetail::brief, [exchange](const std::expected<Execution, Error>& execution) {
        exchange->go_on([&] {
          if (!execution) throw execution.error();
          refuse_imported(*execution);
          refuse_rejected_pipeline(*execution);
          base::Problems problems;
          auto correction = read_correction(exchange, *execution, problems);
          if (problems.has_errors()) {
            return exchange->refuse(ErrorCode::flow_invalid, "the workflow is not valid", problems);
          }
          runtime::ExecutionDriver& driver = exchange->daemon.driver();
          if (!correction) return driver.retry(execution->execution_id, answer_with_execution(exchange));
          refuse_pipeline_correction(*execution);
          driver.retry(execution->execution_id, std::move(*correction), answer_with_execution(exchange));
        });
      });
}

}  // namespace

std::vector<Operation> execution_retry_operations(json::Schemas& schemas) {
  return {{.method = "POST",
           .path = "/api/executions/{id}/retry",
           .handle = retry,
           .name = "retryExecution",
           .inside = InRunAccess::reported,
           .summary = "Retry an execution from its failed nodes; completed nodes are kept. `source`: the text of the "
                      "corrected workflow for what has not run, `file`: its name in messages; `inputs`: corrected "
                      "inputs",
           .scope = Scope::operate,
           .query = {outputs_parameter()},
           .body = optional_members({{"reason", json::string_schema()},
                                     {"source", json::string_schema()},
                                     {"file", json::string_schema()},
                                     {"inputs", Value::object()}}),
           .replies = {{200, schemas.of<model::Execution>()}},
           .errors = {ErrorCode::execution_not_found,
                      ErrorCode::execution_over,
                      ErrorCode::execution_not_failed,
                      ErrorCode::execution_not_correctable,
                      ErrorCode::execution_is_part,
                      ErrorCode::execution_imported,
                      ErrorCode::execution_inside_run,
                      ErrorCode::flow_invalid,
                      ErrorCode::flow_invalid_inputs,
                      ErrorCode::config_invalid,
                      ErrorCode::pipeline_rejected,
                      ErrorCode::node_unknown_role,
                      ErrorCode::node_no_tool,
                      ErrorCode::node_unknown_gate,
                      ErrorCode::node_gate_cycle,
                      ErrorCode::run_unknown_tool,
                      ErrorCode::run_headless_unsupported,
                      ErrorCode::api_peer_gone,
                      ErrorCode::git_no_commits,
                      ErrorCode::git_missing},
           .idempotency = IdempotencyMode::answer}};
}

}  // namespace reeve::server
