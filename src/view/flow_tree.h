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

// An execution as it goes on: one line a node, subgraphs beneath the node that started them.
namespace reeve::view {

struct FlowPicture {
  model::Execution execution;
  std::shared_ptr<const model::Workflow> workflow;
  // By the node that started them.
  std::map<std::string, FlowPicture> children = {};
  // By node, what is to be said beside its status: "45 % compiling", "AP-4 Ship it?". Made harmless here.
  std::map<std::string, std::string> notes = {};
};

struct TreeSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};
// The heading and the nodes in the order of work, each line as wide as fits. When there are more nodes than rows, those
// that are done, then those that have not begun, are counted instead of shown.
std::vector<std::string> flow_tree(const FlowPicture& picture, const Style& style, base::WallTime now, TreeSize size);

}  // namespace reeve::view
