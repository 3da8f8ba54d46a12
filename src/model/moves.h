#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

// Life cycles as tables: which status may follow which. One line per move, so that the table can be read and compared
// with the documentation (docs/LIFECYCLES.md), which a test does.
namespace reeve::model {

template <class Status>
struct Move {
  Status from;
  Status to;
};

template <class Status, std::size_t N>
constexpr bool allows(const std::array<Move<Status>, N>& table, Status from, Status to) noexcept {
  return std::ranges::any_of(table, [&](const Move<Status>& move) { return move.from == from && move.to == to; });
}

// Final is what nothing follows.
template <class Status, std::size_t N>
constexpr bool ends_in(const std::array<Move<Status>, N>& table, Status status) noexcept {
  return std::ranges::none_of(table, [&](const Move<Status>& move) { return move.from == status; });
}

}  // namespace reeve::model
