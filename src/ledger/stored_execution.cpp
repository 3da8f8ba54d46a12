#include "ledger/stored_execution.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "store/stored_json.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using engine::NodeState;
using graph::EdgeIndex;
using graph::NodeIndex;
using store::Row;
using store::Sql;

namespace {

Value parse_column(const Row& row, int column) {
  return row.is_null(column) ? Value() : store::decode_stored<Value>(row.text(column));
}

std::string slots_of(std::int64_t number, std::span<const NodeIndex> nodes) {
  std::string slots = "[";
  for (const NodeIndex node : nodes) {
    fmt::format_to(std::back_inserter(slots), "{}{}", slots.size() > 1 ? "," : "", slot_of(number, node));
  }
  return slots + "]";
}

std::int64_t last_slot(std::int64_t number) { return slot_of(number, 0) + nodes_per_execution - 1; }

}  // namespace

std::string format_edges(const std::vector<std::int64_t>& edges) {
  const bool is_open = std::ranges::all_of(edges, [](std::int64_t edge) { return edge == 0; });
  return is_open ? "" : fmt::format("{}", fmt::join(edges, ","));
}

std::vector<std::int64_t> parse_edges(std::string_view text, std::size_t count) {
  std::vector<std::int64_t> edges(count, 0);
  const char* at = text.data();
  const char* end = at + text.size();
  for (std::size_t i = 0; i < count && at < end; ++i) {
    at = std::from_chars(at, end, edges[i]).ptr;
    if (at < end && *at == ',') ++at;
  }
  return edges;
}

ExecutionTickets StoredExecution::send(store::Session& session, std::int64_t number, Header header,
                                       std::span<const NodeIndex> nodes) {
  ExecutionTickets tickets;
  if (header == Header::send) {
    const auto params = std::to_array<store::Param>({{"execution", number}});
    tickets.header = session.send(Sql::execution_lock, params);
  }
  if (!nodes.empty()) {
    const std::string slots = slots_of(number, nodes);
    const auto params = std::to_array<store::Param>({{"slots", slots}});
    tickets.nodes = session.send(Sql::nodes_load, params);
  }
  return tickets;
}

bool StoredExecution::load(const std::optional<ExecutionTickets>& tickets) {
  const bool is_sent = tickets && tickets->header;
  const auto header = is_sent ? *tickets->header : *send(session_, number_, Header::send, {}).header;
  const bool is_there = session_.take(header, [&](const Row& row) { read_header(row); }) > 0;
  if (is_there) workflow_ = workflows_.get(session_, hash_);
  if (tickets) take_nodes(*tickets);
  if (is_there) return true;
  const bool exists = session_.query(Sql::execution_exists, {{"execution", number_}}, [](const Row&) {}) > 0;
  if (exists) throw AggregateBusy{};
  return false;
}

void StoredExecution::begin(New made) {
  is_new_ = true;
  hash_ = std::move(made.hash);
  parent_ = made.parent;
  parent_node_ = made.parent_node;
  depth_ = made.depth;
  home_ = std::move(made.home);
  seeds_ = std::move(made.seeds);
  subgraphs_ = std::move(made.subgraphs);
  workflow_ = workflows_.get(session_, hash_);
}

void StoredExecution::take_nodes(const ExecutionTickets& tickets) {
  if (!tickets.nodes) return;
  // Always taken, because an untaken result would be kept.
  session_.take(*tickets.nodes, [&](const Row& row) {
    if (workflow_) keep(row);
  });
}

void StoredExecution::apply(const engine::ExecutionDecision& decision, std::span<const NodeIndex> written) {
  for (const NodeIndex node : written) {
    NodeRow& kept = row(node);
    ++kept.version;
    kept.stored_links = kept.links;
  }
  for (const engine::NodeChange& change : decision.nodes) {
    NodeState& state = row(change.node).state;
    const bool is_reset = change.reset != engine::NodeReset::none;
    state.status = change.to;
    state.attempt = change.attempt;
    state.iteration = change.iteration;
    state.edges_decided = change.edges_decided;
    state.edges_taken = change.edges_taken;
    state.not_before = change.not_before;
    if (change.inputs || is_reset) state.inputs = change.inputs.value_or(Value());
    if (change.outputs || is_reset) state.outputs = change.outputs.value_or(Value());
  }
  for (const engine::LoopChange& change : decision.loops) loops_[change.edge] = change.taken;
  if (!decision.execution) return;
  status_ = decision.execution->to;
  tally_ = decision.execution->tally;
  ++version_;
}

void StoredExecution::read_header(const Row& row) {
  hash_ = row.text(0);
  status_ = row.word<model::ExecutionStatus>(1);
  version_ = row.integer(2);
  tally_ = {row.integer(3), row.integer(4), row.integer(5), row.integer(6), row.integer(7), row.integer(8)};
  parent_ = row.find_integer(9);
  parent_node_ = static_cast<NodeIndex>(row.integer(10));
  depth_ = static_cast<int>(row.integer(11));
  home_ = row.find_text(12);
  is_paused_ = !row.is_null(13);
}

void StoredExecution::keep(const Row& row) const {
  const auto node = static_cast<NodeIndex>(row.integer(0));
  NodeRow kept;
  NodeState& state = kept.state;
  state.status = row.word<model::NodeStatus>(1);
  state.attempt = static_cast<int>(row.integer(2));
  state.iteration = static_cast<int>(row.integer(3));
  kept.version = row.integer(4);
  kept.resets = row.integer(5);
  state.edges_decided = row.integer(6);
  state.edges_taken = row.integer(7);
  kept.edges = parse_edges(row.text(8), workflow().graph().outgoing(node).size());
  state.inputs = parse_column(row, 9);
  state.outputs = parse_column(row, 10);
  state.not_before = row.find_time(11);
  kept.daemon = row.find_integer(12);
  kept.epoch = row.integer(13);
  kept.is_spawned = row.integer(14) != 0;
  kept.links = {row.find_integer(15), row.find_integer(16), row.find_integer(17)};
  kept.stored_links = kept.links;
  rows_.try_emplace(node, std::move(kept));
}

NodeRow& StoredExecution::row(NodeIndex node) const {
  if (const auto found = rows_.find(node); found != rows_.end()) return found->second;
  if (is_new_) {
    NodeRow& made = rows_[node];
    made.edges.assign(workflow().graph().outgoing(node).size(), 0);
    return made;
  }
  const std::int64_t slot = slot_of(number_, node);
  session_.query(Sql::node_load, {{"slot", slot}}, [&](const Row& row) { keep(row); });
  const auto found = rows_.find(node);
  if (found == rows_.end()) {
    throw base::Error(ErrorCode::store_damaged, fmt::format("EX-{} has no row for its node {}", number_, node));
  }
  return found->second;
}

void StoredExecution::expect(std::span<const NodeIndex> nodes) const {
  if (is_new_) return;
  std::vector<NodeIndex> missing;
  for (const NodeIndex node : nodes) {
    if (!rows_.contains(node)) missing.push_back(node);
  }
  // A few rows are faster to read one by one.
  constexpr std::size_t few = 8;
  if (missing.size() < 2 || (!session_.is_pipelined() && missing.size() <= few)) return;
  session_.query(Sql::nodes_load, {{"slots", slots_of(number_, missing)}}, [&](const Row& row) { keep(row); });
}

void StoredExecution::load_origin() const {
  session_.query(Sql::execution_origin, {{"execution", number_}}, [&](const Row& row) {
    seeds_ = store::decode_stored<Value>(row.text(0));
    subgraphs_ = row.text(1);
  });
}

const Value& StoredExecution::seeds() const {
  if (!seeds_) load_origin();
  return *seeds_;
}

std::string StoredExecution::subgraphs() const {
  if (!seeds_) load_origin();
  return subgraphs_;
}

engine::EdgeView StoredExecution::edge(EdgeIndex edge) const {
  const graph::Graph& graph = workflow().graph();
  const NodeIndex source = graph.source(edge);
  const auto outgoing = graph.outgoing(source);
  const auto position = static_cast<std::size_t>(std::ranges::lower_bound(outgoing, edge) - outgoing.begin());
  const std::int64_t stored = row(source).edges[position];
  if (stored == 0) return {};
  return stored < 0 ? engine::EdgeView{model::EdgeState::dead, 0} : engine::EdgeView{model::EdgeState::taken, stored};
}

std::int64_t StoredExecution::loop_taken(EdgeIndex edge) const {
  if (const auto known = loops_.find(edge); known != loops_.end()) return known->second;
  std::int64_t taken = 0;
  if (is_new_) return taken;
  session_.query(Sql::loop_load, {{"execution", number_}, {"edge", edge}},
                 [&](const Row& row) { taken = row.integer(0); });
  loops_.emplace(edge, taken);
  return taken;
}

std::vector<NodeIndex> StoredExecution::live_nodes() const {
  std::vector<NodeIndex> nodes;
  session_.query(Sql::nodes_live, {{"first", slot_of(number_, 0)}, {"last", last_slot(number_)}},
                 [&](const Row& row) { nodes.push_back(static_cast<NodeIndex>(row.integer(0))); });
  return nodes;
}

std::vector<engine::FailedNode> StoredExecution::failed_nodes() const {
  std::vector<engine::FailedNode> failed;
  session_.query(Sql::execution_nodes_brief, {{"first", slot_of(number_, 0)}, {"last", last_slot(number_)}},
                 [&](const Row& row) {
                   if (row.word<model::NodeStatus>(2) != model::NodeStatus::failed) return;
                   if (const auto node = workflow().graph().find(row.text(0))) {
                     failed.push_back({*node, row.find_text(5).value_or("")});
                   }
                 });
  return failed;
}

std::vector<NodeIndex> StoredExecution::ready_nodes(base::WallTime now, std::size_t most) const {
  std::vector<NodeIndex> nodes;
  session_.query(Sql::nodes_ready,
                 {{"first", slot_of(number_, 0)},
                  {"last", last_slot(number_)},
                  {"now", base::format_time(now)},
                  {"most", static_cast<std::int64_t>(most)}},
                 [&](const Row& row) { nodes.push_back(static_cast<NodeIndex>(row.integer(0))); });
  return nodes;
}

}  // namespace reeve::ledger
