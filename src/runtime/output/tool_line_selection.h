#pragma once

#include <cstddef>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

// Which of the lines of a tool's output a reader wants.
namespace reeve::runtime {

// A regular expression from a request, matched in linear time and bounded memory (RE2).
class LinePattern {
 public:
  static constexpr std::size_t max_bytes = 1'024;
  // Why the pattern cannot be used, otherwise.
  static std::expected<LinePattern, std::string> make(std::string_view pattern);
  ~LinePattern();
  LinePattern(LinePattern&&) noexcept;
  LinePattern& operator=(LinePattern&&) noexcept;

  // Matches anywhere in the text.
  bool match(std::string_view text) const;

 private:
  struct Compiled;
  explicit LinePattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

// Passes on the records that are wanted, the last ones of what exists first (`tail`), then everything that follows.
class LineSelection {
 public:
  static constexpr std::size_t max_tail = 100'000;
  // The records kept for `tail` are bounded by their size too; the oldest go first.
  static constexpr std::size_t max_kept_bytes = std::size_t{64} << 20U;
  struct Terms {
    std::shared_ptr<const LinePattern> grep = {};
    std::optional<base::WallTime> since = {};
    std::optional<std::size_t> tail = {};
  };
  explicit LineSelection(Terms terms) : terms_(std::move(terms)) {}

  // `text`: redacted, as the reader sees it, so that a pattern cannot probe for a secret.
  void add(base::WallTime at, std::string_view text, std::string record);
  // All that exists now was added: from now on nothing is held back.
  void reach_end();
  // The records to send, each with its newline; empties the buffer.
  std::string take();
  std::size_t pending() const noexcept { return ready_.size(); }
  // Whether a line must be complete before it can be judged.
  bool needs_whole_lines() const noexcept { return terms_.grep != nullptr; }

 private:
  Terms terms_;
  std::string ready_;
  std::deque<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  bool is_at_end_ = false;
};

}  // namespace reeve::runtime
