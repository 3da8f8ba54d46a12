#pragma once

#include "base/value.h"
#include "graph/graph.h"
#include "spec/workflow_file.h"

namespace reeve::cli {

// The `--json` record of a workflow file: its identity, its hash and the analysis of its graph.
base::Value workflow_record(const spec::WorkflowFile& file, const graph::Graph& graph);

}  // namespace reeve::cli
