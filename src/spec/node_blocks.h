#pragma once

#include <array>
#include <string_view>

#include "model/workflow.h"

namespace reeve::spec {

// The block that a node of each type has; no node has another type's.
struct NodeBlock {
  model::NodeType type;
  std::string_view key;
  bool is_required;
};

inline constexpr std::array node_blocks = {
    NodeBlock{model::NodeType::task, "task_config", true},
    NodeBlock{model::NodeType::gate, "gate_config", true},
    NodeBlock{model::NodeType::branch, "branch_config", true},
    NodeBlock{model::NodeType::merge, "merge_config", false},
    NodeBlock{model::NodeType::parallel, "parallel_config", true},
    NodeBlock{model::NodeType::subgraph, "subgraph_config", true},
    NodeBlock{model::NodeType::human, "human_config", true},
};

}  // namespace reeve::spec
