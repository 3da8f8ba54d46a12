#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/execution.h"

// Where a child execution and the node that started it meet (GRF-11).
namespace reeve::engine {

struct ChildEnd {
  model::ExecutionStatus status = model::ExecutionStatus::completed;
  std::optional<std::string> reason;
  // Of its exits that completed, by node in the order of the child's file.
  std::map<graph::NodeIndex, base::Value> exits;
};

// What the end of the child is for its node: a later exit's field wins over an earlier one's; then the output mapping.
ExecutionEvent conclude_child(const CompiledWorkflow& parent, graph::NodeIndex node, const CompiledWorkflow& child,
                              const ChildEnd& end);

}  // namespace reeve::engine
