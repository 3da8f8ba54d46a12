#pragma once

#include "base/value.h"
#include "graph/graph.h"
#include "spec/workflow_file.h"

namespace reeve::cli {

// What `--json` shows of a workflow file: who it is, its hash, and what analysis says of its graph.
base::Value workflow_record(const spec::WorkflowFile& file, const graph::Graph& graph);

}  // namespace reeve::cli
