#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"

namespace reeve::spec {

// A text that a user wrote, and its origin: a file, a variable, a flag.
class Source {
 public:
  // `name` is what the user would type: a path as it was given.
  Source(std::string name, std::string text);

  const std::string& name() const noexcept { return name_; }
  std::string_view text() const noexcept { return text_; }
  // Counts from 1; empty past the end.
  std::string_view line(std::size_t number) const noexcept;
  base::Place place(std::size_t line_number, std::size_t column, std::size_t length) const;

 private:
  std::string name_;
  std::string text_;
  // The start offset of each line.
  std::vector<std::size_t> lines_;
};

}  // namespace reeve::spec
