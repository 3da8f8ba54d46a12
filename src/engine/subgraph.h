#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/execution.h"

// The interface between a child execution and its parent node (GRF-11).
namespace reeve::engine {

struct ChildEnd {
  model::ExecutionStatus status = model::ExecutionStatus::completed;
  std::optional<std::string> reason;
  // Outputs of the completed exits, by node in the order of the child's file.
  std::map<graph::NodeIndex, base::Value> exits;
};

// The parent node's event for the end of its child. A later exit's field overrides an earlier one's; then the output
// mapping applies.
ExecutionEvent conclude_child(const CompiledWorkflow& parent, graph::NodeIndex node, const CompiledWorkflow& child,
                              const ChildEnd& end);

}  // namespace reeve::engine
