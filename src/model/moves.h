#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

// Life cycles as transition tables. One line per transition, so that a test can compare the tables with the
// documentation (docs/LIFECYCLES.md).
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

// A status is final if it has no outgoing transition.
template <class Status, std::size_t N>
constexpr bool ends_in(const std::array<Move<Status>, N>& table, Status status) noexcept {
  return std::ranges::none_of(table, [&](const Move<Status>& move) { return move.from == status; });
}

}  // namespace reeve::model
