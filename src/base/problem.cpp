#include "base/problem.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace reeve::base {

Problem& Problems::add(Problem problem) {
  ++(problem.severity == Severity::error ? errors_ : warnings_);
  if (list_.size() < limits::problems_kept) return list_.emplace_back(std::move(problem));
  overflow_ = std::move(problem);
  return overflow_;
}

void Problems::append_new(const Problems& other) {
  for (const Problem& problem : other.list_) {
    if (std::ranges::find(list_, problem) == list_.end()) add(problem);
  }
}

void Problems::append(const Problems& other) {
  const std::size_t room = limits::problems_kept - list_.size();
  const auto taken = std::min(room, other.list_.size());
  list_.insert(list_.end(), other.list_.begin(), other.list_.begin() + static_cast<std::ptrdiff_t>(taken));
  errors_ += other.errors_;
  warnings_ += other.warnings_;
}

void Problems::sort() {
  // Ties in position are broken by the text, so that the order does not depend on which check ran first.
  static const Place nowhere;
  std::ranges::sort(list_, {}, [](const Problem& problem) {
    const Place& place = problem.place ? *problem.place : nowhere;
    return std::tuple(std::string_view(place.file), place.line, place.column, std::string_view(problem.code.text()),
                      std::string_view(problem.message));
  });
}

}  // namespace reeve::base
