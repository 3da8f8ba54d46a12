#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/execution.h"
#include "model/workflow.h"
#include "view/style.h"

// A live view of an execution: one line per node, subgraphs below the node that started them.
namespace reeve::view {

struct FlowPicture {
  model::Execution execution;
  std::shared_ptr<const model::Workflow> workflow;
  // By the node that started them.
  std::map<std::string, FlowPicture> children = {};
  // By node, a note next to its status: "45 % compiling", "AP-4 Ship it?". Sanitized here.
  std::map<std::string, std::string> notes = {};
};

struct TreeSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};
// The heading and the nodes in execution order, each line cut to the width. If there are more nodes than rows,
// completed nodes, then pending ones, are counted instead of shown.
std::vector<std::string> flow_tree(const FlowPicture& picture, const Style& style, base::WallTime now, TreeSize size);

}  // namespace reeve::view
