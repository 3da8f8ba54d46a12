#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.h"

namespace reeve::base {

enum class Severity { error, warning };

// Where in a file that a person wrote. Lines and columns count from 1, columns in characters.
struct Place {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
  // How many characters the caret marks.
  std::size_t length = 1;
  // The line itself, or of a long one the part around the column, so that whoever shows the problem needs no second
  // look at the file; and where in it the column is.
  std::string source_line;
  std::size_t source_column = 1;

  friend bool operator==(const Place&, const Place&) = default;
};

// One thing that is wrong with what a person wrote: what, where, why, and what to do.
struct Problem {
  Severity severity = Severity::error;
  // Stable: `flow.unknown_node_type`.
  std::string code;
  std::string message;
  std::optional<Place> place;
  // Stands beside the caret: "did you mean `task`?".
  std::string hint;
  // "task, gate, branch": what would be accepted here.
  std::string allowed;
  std::string fix;

  friend bool operator==(const Problem&, const Problem&) = default;
};

// All problems of one reading. Bounded: a file with a million mistakes costs no more than one with a hundred.
class Problems {
 public:
  Problem& add(Problem problem);
  void append(const Problems& other);
  // Only those that are not in it yet, of those that the other kept.
  void append_new(const Problems& other);
  // By file, then line and column, so that a person can go through the file from top to bottom.
  void sort();

  const std::vector<Problem>& list() const noexcept { return list_; }
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return warnings_; }
  // Problems that were counted but not kept.
  std::size_t dropped() const noexcept { return errors_ + warnings_ - list_.size(); }
  // What comes now is only counted: no need to find good words for it.
  bool is_full() const noexcept { return list_.size() == limits::problems_kept; }
  bool has_errors() const noexcept { return errors_ > 0; }
  bool empty() const noexcept { return errors_ + warnings_ == 0; }

 private:
  std::vector<Problem> list_;
  // Takes what is beyond the bound, so that `add` can always return something to write to.
  Problem overflow_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

// The outcome of reading what a person wrote.
template <class T>
using Result = std::expected<T, Problems>;

}  // namespace reeve::base
