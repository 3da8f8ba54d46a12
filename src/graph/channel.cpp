#include "graph/channel.h"

#include <algorithm>

namespace reeve::graph {

namespace {

bool overlap(const Wire& one, const Wire& other) { return one.left() <= other.right() && other.left() <= one.right(); }

// One wire comes down in a column where the other goes down: the first must turn off above the second.
bool must_be_above(const Wire& upper, const Wire& lower) {
  return std::ranges::any_of(upper.sources, [&](std::size_t column) {
    return std::ranges::find(lower.targets, column) != lower.targets.end();
  });
}

}  // namespace

std::size_t Wire::left() const { return std::min(std::ranges::min(sources), std::ranges::min(targets)); }
std::size_t Wire::right() const { return std::max(std::ranges::max(sources), std::ranges::max(targets)); }

std::size_t assign_rows(std::vector<Wire>& wires) {
  std::vector<Wire*> waiting;
  for (Wire& wire : wires) {
    if (!wire.is_straight()) waiting.push_back(&wire);
  }
  std::size_t row = 0;
  while (!waiting.empty()) {
    std::vector<Wire*> placed;
    for (Wire* wire : waiting) {
      const bool is_blocked = std::ranges::any_of(waiting, [&](const Wire* other) {
        return other != wire && must_be_above(*other, *wire) && !must_be_above(*wire, *other);
      });
      const bool is_taken = std::ranges::any_of(placed, [&](const Wire* other) { return overlap(*wire, *other); });
      if (!is_blocked && !is_taken) placed.push_back(wire);
    }
    // Wires in a cyclic order have no good row; the first one gets this row anyway.
    if (placed.empty()) placed.push_back(waiting.front());
    for (Wire* wire : placed) wire->row = row;
    std::erase_if(waiting, [&](Wire* wire) { return std::ranges::find(placed, wire) != placed.end(); });
    ++row;
  }
  return row;
}

}  // namespace reeve::graph
