#include "model/execution.h"

#include "model/moves.h"

namespace reeve::model {

namespace {

constexpr auto execution_moves = std::to_array<Move<ExecutionStatus>>({
    {ExecutionStatus::running, ExecutionStatus::waiting_approval},
    {ExecutionStatus::running, ExecutionStatus::completed},
    {ExecutionStatus::running, ExecutionStatus::failed},
    {ExecutionStatus::running, ExecutionStatus::cancelled},
    {ExecutionStatus::waiting_approval, ExecutionStatus::running},
    {ExecutionStatus::waiting_approval, ExecutionStatus::completed},
    {ExecutionStatus::waiting_approval, ExecutionStatus::failed},
    {ExecutionStatus::waiting_approval, ExecutionStatus::cancelled},
    {ExecutionStatus::failed, ExecutionStatus::running},
    {ExecutionStatus::failed, ExecutionStatus::waiting_approval},
    {ExecutionStatus::cancelled, ExecutionStatus::running},
    {ExecutionStatus::cancelled, ExecutionStatus::waiting_approval},
});

constexpr auto node_moves = std::to_array<Move<NodeStatus>>({
    {NodeStatus::pending, NodeStatus::ready},
    {NodeStatus::pending, NodeStatus::running},
    {NodeStatus::pending, NodeStatus::waiting_approval},
    {NodeStatus::pending, NodeStatus::completed},
    {NodeStatus::pending, NodeStatus::skipped},
    {NodeStatus::pending, NodeStatus::cancelled},
    {NodeStatus::ready, NodeStatus::running},
    {NodeStatus::ready, NodeStatus::waiting_approval},
    {NodeStatus::ready, NodeStatus::completed},
    {NodeStatus::ready, NodeStatus::failed},
    {NodeStatus::ready, NodeStatus::cancelled},
    {NodeStatus::running, NodeStatus::ready},
    {NodeStatus::running, NodeStatus::waiting_approval},
    {NodeStatus::running, NodeStatus::completed},
    {NodeStatus::running, NodeStatus::failed},
    {NodeStatus::running, NodeStatus::cancelled},
    {NodeStatus::waiting_approval, NodeStatus::running},
    {NodeStatus::waiting_approval, NodeStatus::completed},
    {NodeStatus::waiting_approval, NodeStatus::failed},
    {NodeStatus::waiting_approval, NodeStatus::cancelled},
});

}  // namespace

bool can_move(ExecutionStatus from, ExecutionStatus to) noexcept { return allows(execution_moves, from, to); }

bool is_over(ExecutionStatus status) noexcept {
  return status != ExecutionStatus::running && status != ExecutionStatus::waiting_approval;
}

bool can_move(NodeStatus from, NodeStatus to) noexcept { return allows(node_moves, from, to); }
bool is_over(NodeStatus status) noexcept { return ends_in(node_moves, status); }

}  // namespace reeve::model
