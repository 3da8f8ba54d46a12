#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/approvals.h"
#include "client/executions.h"
#include "wire/pipeline_record.h"

// Requests about pipelines.
namespace reeve::client {

struct PipelineRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  wire::PipelineRecord pipeline;
};

// Returned as an execution, so that it can be followed like one.
StartedExecution create_pipeline(Daemon& daemon, const base::Value& request);
PipelineRecord get_pipeline(Daemon& daemon, base::ExecutionId id);

struct PipelineSelection {
  // Empty: all.
  std::vector<std::string> statuses = {};
  std::optional<std::string> pipeline = {};
  // The path of their project.
  std::optional<std::string> project = {};
};
// Newest first, without steps.
std::vector<PipelineRecord> list_pipelines(Daemon& daemon, const PipelineSelection& selection, std::size_t limit);

// Decides at its approval step. Throws a Refusal if it is not waiting at one.
PipelineRecord decide_pipeline(Daemon& daemon, base::ExecutionId id, Verdict::Word word,
                               const std::optional<std::string>& comment);
PipelineRecord abort_pipeline(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& comment);

}  // namespace reeve::client
