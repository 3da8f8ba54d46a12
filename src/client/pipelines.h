#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/approvals.h"
#include "client/executions.h"
#include "wire/pipeline_record.h"

// What a client asks of pipelines.
namespace reeve::client {

struct PipelineRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  wire::PipelineRecord pipeline;
};

// As an execution, which it is too: so it is followed.
StartedExecution create_pipeline(Daemon& daemon, const base::Value& wish);
PipelineRecord get_pipeline(Daemon& daemon, base::ExecutionId id);

struct PipelineSelection {
  // None: all.
  std::vector<std::string> statuses = {};
  std::optional<std::string> pipeline = {};
};
// The newest first, without steps.
std::vector<PipelineRecord> list_pipelines(Daemon& daemon, const PipelineSelection& selection, std::size_t limit);

// At its approval step. A Refusal when it waits at none.
PipelineRecord decide_pipeline(Daemon& daemon, base::ExecutionId id, Verdict::Word word,
                               const std::optional<std::string>& comment);
PipelineRecord abort_pipeline(Daemon& daemon, base::ExecutionId id, const std::optional<std::string>& comment);

}  // namespace reeve::client
