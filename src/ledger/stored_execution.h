#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/execution.h"
#include "ledger/unit.h"
#include "ledger/workflows.h"

namespace reeve::ledger {

// node_executions.slot.
constexpr std::int64_t nodes_per_execution = 1'048'576;
constexpr std::int64_t slot_of(std::int64_t execution, graph::NodeIndex node) noexcept {
  return execution * nodes_per_execution + node;
}

// Other rows that belong to a node.
struct NodeLinks {
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> approval;
  std::optional<std::int64_t> child;
  friend bool operator==(const NodeLinks&, const NodeLinks&) = default;
};

// The row of a node.
struct NodeRow {
  engine::NodeState state;
  std::int64_t version = 0;
  std::int64_t resets = 0;
  // Its outgoing edges in file order: 0 open, -1 dead, else the rank in which it was taken.
  std::vector<std::int64_t> edges;
  std::optional<std::int64_t> daemon;
  std::int64_t epoch = 0;
  bool is_spawned = false;
  NodeLinks links;
  // As loaded.
  NodeLinks stored_links;
};

// Rows that may be requested early: see Unit::prefetch.
struct ExecutionTickets {
  // Empty if another unit of the group requests it.
  std::optional<store::Session::Ticket> header;
  std::optional<store::Session::Ticket> nodes;
};

// An execution in the store, as the engine's view. Locked from loading to the end of the transaction, so that two
// daemons cannot decide about it at once. Nodes are read on demand, expected ones together. Units of one group that
// step the same execution share it: each applies what it wrote.
class StoredExecution final : public engine::ExecutionView {
 public:
  // The session and the workflows must outlive it.
  StoredExecution(store::Session& session, Workflows& workflows, std::int64_t number)
      : session_(session), workflows_(workflows), number_(number) {}

  enum class Header { send, leave };
  // Requests the header and these nodes; load() or take_nodes() receives them with the tickets.
  static ExecutionTickets send(store::Session& session, std::int64_t number, Header header,
                               std::span<const graph::NodeIndex> nodes);

  // False if there is no such execution. Throws AggregateBusy if another daemon works on it.
  bool load(const std::optional<ExecutionTickets>& tickets = {});

  // For an execution that this transaction has just inserted: nothing is read.
  struct New {
    std::string hash;
    std::optional<std::int64_t> parent;
    graph::NodeIndex parent_node = 0;
    int depth = 0;
    std::optional<std::string> home;
    base::Value seeds;
    std::string subgraphs;
  };
  void begin(New made);

  // Receives requested rows; rows that are already here are newer.
  void take_nodes(const ExecutionTickets& tickets);
  // Applies a written decision to this copy. Not allowed after all pending nodes were cancelled, because those rows
  // changed without being read.
  void apply(const engine::ExecutionDecision& decision, std::span<const graph::NodeIndex> written);

  std::int64_t number() const noexcept { return number_; }
  std::int64_t version() const noexcept { return version_; }
  const std::string& workflow_hash() const noexcept { return hash_; }
  std::optional<std::int64_t> parent() const noexcept { return parent_; }
  graph::NodeIndex parent_node() const noexcept { return parent_node_; }
  int depth() const noexcept { return depth_; }
  // The owner host, whose daemons alone may start its nodes.
  const std::optional<std::string>& home() const noexcept { return home_; }
  const std::shared_ptr<const LoadedWorkflow>& loaded() const noexcept { return workflow_; }
  NodeRow& row(graph::NodeIndex node) const;
  // {name: hash} of the subgraphs, as stored.
  std::string subgraphs() const;

  const engine::CompiledWorkflow& workflow() const override { return workflow_->compiled; }
  model::ExecutionStatus status() const override { return status_; }
  bool is_paused() const override { return is_paused_; }
  engine::Tally tally() const override { return tally_; }
  const base::Value& seeds() const override;
  const engine::NodeState& node(graph::NodeIndex node) const override { return row(node).state; }
  engine::EdgeView edge(graph::EdgeIndex edge) const override;
  std::int64_t loop_taken(graph::EdgeIndex edge) const override;
  std::vector<graph::NodeIndex> live_nodes() const override;
  std::vector<engine::FailedNode> failed_nodes() const override;
  std::vector<graph::NodeIndex> ready_nodes(base::WallTime now, std::size_t most) const override;
  void expect(std::span<const graph::NodeIndex> nodes) const override;

 private:
  void read_header(const store::Row& row);
  void keep(const store::Row& row) const;
  void load_origin() const;

  store::Session& session_;
  Workflows& workflows_;
  std::int64_t number_;
  std::string hash_;
  std::shared_ptr<const LoadedWorkflow> workflow_;
  model::ExecutionStatus status_ = model::ExecutionStatus::running;
  std::int64_t version_ = 0;
  engine::Tally tally_;
  std::optional<std::int64_t> parent_;
  graph::NodeIndex parent_node_ = 0;
  int depth_ = 0;
  std::optional<std::string> home_;
  bool is_new_ = false;
  bool is_paused_ = false;
  mutable std::optional<base::Value> seeds_;
  mutable std::string subgraphs_;
  mutable std::unordered_map<graph::EdgeIndex, std::int64_t> loops_;
  // References stay valid while it grows.
  mutable std::unordered_map<graph::NodeIndex, NodeRow> rows_;
};

// "1,0,-1" and back.
std::string format_edges(const std::vector<std::int64_t>& edges);
std::vector<std::int64_t> parse_edges(std::string_view text, std::size_t count);

}  // namespace reeve::ledger
