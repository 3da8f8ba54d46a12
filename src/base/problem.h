#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/error_code.h"
#include "base/limits.h"

namespace reeve::base {

enum class Severity { error, warning };

// A position in a user-written file. Lines and columns start at 1; columns count characters.
struct Place {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  // Number of characters that the caret underlines.
  std::size_t length = 1;
  // The line itself, or the part of a long line around the column, so that the file need not be read again to show the
  // problem; and the column's offset within it.
  std::string source_line;
  std::size_t source_column = 1;

  friend bool operator==(const Place&, const Place&) = default;
};

// One mistake in user input: what, where, why, and how to fix it.
struct Problem {
  Severity severity = Severity::error;
  AnyErrorCode code;
  std::string message;
  std::optional<Place> place;
  // Printed next to the caret: "did you mean `task`?".
  std::string hint;
  // "task, gate, branch": the values accepted here.
  std::string allowed;
  std::string fix;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// All problems of one input. Bounded: a file with a million mistakes costs no more than one with a hundred.
class Problems {
 public:
  Problem& add(Problem problem);
  void append(const Problems& other);
  // Appends the problems kept by `other` that are not yet in this list.
  void append_new(const Problems& other);
  // By file, line and column, so that a user can work through the file from top to bottom.
  void sort();

  const std::vector<Problem>& list() const noexcept { return list_; }
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return warnings_; }
  // Problems that were counted but not kept.
  std::size_t dropped() const noexcept { return errors_ + warnings_ - list_.size(); }
  // Further problems are only counted, so callers need not compose messages for them.
  bool is_full() const noexcept { return list_.size() == limits::problems_kept; }
  bool has_errors() const noexcept { return errors_ > 0; }
  bool empty() const noexcept { return errors_ + warnings_ == 0; }

 private:
  std::vector<Problem> list_;
  // Receives problems beyond the limit, so that `add` can always return a reference to write to.
  Problem overflow_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

// The result of parsing user input.
template <class T>
using Result = std::expected<T, Problems>;

}  // namespace reeve::base
