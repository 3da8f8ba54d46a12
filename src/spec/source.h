#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"

namespace reeve::spec {

// A text that a person wrote, and where it came from: a file, a variable, a flag.
class Source {
 public:
  // `name` as the person would write it: a path as it was given.
  Source(std::string name, std::string text);

  const std::string& name() const noexcept { return name_; }
  std::string_view text() const noexcept { return text_; }
  // From 1; empty beyond the end.
  std::string_view line(std::size_t number) const noexcept;
  base::Place place(std::size_t line_number, std::size_t column, std::size_t length) const;

 private:
  std::string name_;
  std::string text_;
  // Where each line begins.
  std::vector<std::size_t> lines_;
};

}  // namespace reeve::spec
