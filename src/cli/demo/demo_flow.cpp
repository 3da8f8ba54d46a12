#include "cli/demo/demo_flow.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "client/executions.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;
using base::Value;
using model::NodeExecution;
using model::NodeStatus;
using model::NodeType;

// The delay with which steps are shown and Ctrl-C is noticed.
constexpr base::Milliseconds poll_interval{50};

std::string text_of(const NodeExecution& node, std::string_view key) {
  const Value* found = node.outputs ? node.outputs->find(key) : nullptr;
  if (found == nullptr || found->as_string() == nullptr) return {};
  const std::string& text = *found->as_string();
  return base::visible(base::trim(text.substr(0, text.find('\n'))));
}

bool has_passed(const NodeExecution& node) {
  const Value* passed = node.outputs ? node.outputs->find("passed") : nullptr;
  return passed != nullptr && passed->as_bool() != nullptr && *passed->as_bool();
}

// All completed nodes, including earlier loop iterations, in the order in which they completed.
std::vector<NodeExecution> find_ended(client::Daemon& daemon, const model::Execution& execution) {
  std::vector<NodeExecution> ended = client::get_history(daemon, execution.execution_id).iterations;
  ended.insert(ended.end(), execution.nodes.begin(), execution.nodes.end());
  std::erase_if(ended, [](const NodeExecution& node) { return node.status != NodeStatus::completed; });
  std::ranges::sort(ended, {}, [](const NodeExecution& node) {
    return std::tuple(node.completed_at.value_or(base::WallTime()), node.iteration,
                      // A gate comes before the branch that uses it, even within a millisecond.
                      node.type == model::NodeType::branch, node.node_id);
  });
  return ended;
}

void show_step(const DemoStage& stage, const NodeExecution& node) {
  const auto tell = [&](NodeStatus looks_like, std::string_view words) {
    stage.line(view::look_of(looks_like), fmt::format("{:<8}{}", node.node_id, words));
  };
  switch (node.type) {
    case NodeType::gate:
      return has_passed(node) ? tell(NodeStatus::completed, text_of(node, "output"))
                              : tell(NodeStatus::failed, "failed: " + text_of(node, "output"));
    case NodeType::branch:
      if (text_of(node, "branch_outcome") == "on_false") stage.line("     so back to the start, with its output");
      return;
    default:
      return tell(node.status, text_of(node, "summary"));
  }
}

}  // namespace

Value show_flow(const DemoStage& stage, client::Daemon& daemon, const DemoProject& project) {
  auto record = client::create_execution(daemon, project.make_flow_request()).record;
  const base::ExecutionId id = record.execution.execution_id;
  stage.line(view::look_of(model::ExecutionStatus::running), id.text() + " is running: two agents and a test");
  std::set<std::pair<std::string, int>> shown;
  while (true) {
    stage.check();
    record = client::wait_execution(daemon, id, client::Until::final, poll_interval);
    for (const NodeExecution& node : find_ended(daemon, record.execution)) {
      if (shown.emplace(node.node_id, node.iteration).second) show_step(stage, node);
    }
    if (model::is_over(record.execution.status)) break;
  }
  if (record.execution.status != model::ExecutionStatus::completed) {
    throw base::Error(ErrorCode::cli_demo_failed,
                      fmt::format("{} is {}: {}", id.text(), base::spell(record.execution.status),
                                  base::visible(record.execution.reason.value_or("no reason given"))),
                      "`reeve doctor` shows what is missing; `reeve demo --keep` keeps the folder for inspection");
  }
  stage.line(view::look_of(record.execution.status),
             id.text() + " completed: every step was stored before the next began, so even kill -9 loses nothing");
  return std::move(record.wire);
}

}  // namespace reeve::cli
