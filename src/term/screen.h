#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "term/byte_guard.h"

struct VTerm;

namespace reeve::term {

// The visible screen of a terminal after it has received these bytes. Bounded for any input.
class Screen {
 public:
  static constexpr int max_rows = 500;
  static constexpr int max_columns = 1'000;
  static constexpr std::size_t max_scrolled = 40;

  // Sizes out of range are clamped.
  Screen(int rows, int columns);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void feed(std::string_view bytes);

  int rows() const noexcept { return rows_; }
  int columns() const noexcept { return columns_; }
  // Both from 0.
  struct Position {
    int row = 0;
    int column = 0;
    friend bool operator==(const Position&, const Position&) = default;
  };
  Position cursor() const;
  // UTF-8 without trailing blanks and control characters. `columns`: limits the width.
  std::string line(int row) const;
  std::string line(int row, int columns) const;
  // The last rows that have scrolled off the top, from top to bottom. None after the screen was cleared, and while a
  // full-screen program has it.
  const std::deque<std::string>& scrolled() const noexcept;

 private:
  struct Callbacks;
  void feed_part(std::string_view bytes);

  struct Free {
    void operator()(VTerm* terminal) const noexcept;
  };
  int rows_;
  int columns_;
  ByteGuard guard_;
  std::deque<std::string> scrolled_;
  bool is_full_screen_ = false;
  std::unique_ptr<VTerm, Free> terminal_;
};

}  // namespace reeve::term
