#include "runtime/output/tool_line_selection.h"

#include <re2/re2.h>
#include <utility>

namespace reeve::runtime {

namespace {

// For the compiled pattern and the automaton built while matching.
constexpr std::int64_t max_pattern_memory = std::int64_t{1} << 20U;

}  // namespace

struct LinePattern::Compiled {
  Compiled(std::string_view text, const re2::RE2::Options& options)
      : pattern(re2::StringPiece(text.data(), text.size()), options) {}
  re2::RE2 pattern;
};

std::expected<LinePattern, std::string> LinePattern::make(std::string_view pattern) {
  if (pattern.size() > max_bytes) return std::unexpected("it is longer than 1 KiB");
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(max_pattern_memory);
  auto compiled = std::make_unique<Compiled>(pattern, options);
  if (!compiled->pattern.ok()) return std::unexpected(compiled->pattern.error());
  return LinePattern(std::move(compiled));
}

LinePattern::LinePattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
LinePattern::~LinePattern() = default;
LinePattern::LinePattern(LinePattern&&) noexcept = default;
LinePattern& LinePattern::operator=(LinePattern&&) noexcept = default;

bool LinePattern::match(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), compiled_->pattern);
}

void LineSelection::add(base::WallTime at, std::string_view text, std::string record) {
  if (terms_.since && at < *terms_.since) return;
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (terms_.grep && !terms_.grep->match(text)) return;
  record += '\n';
  if (!terms_.tail || is_at_end_) {
    ready_ += record;
    return;
  }
  kept_bytes_ += record.size();
  kept_.push_back(std::move(record));
  while (kept_.size() > *terms_.tail || (kept_bytes_ > max_kept_bytes && kept_.size() > 1)) {
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
  }
}

void LineSelection::reach_end() {
  if (std::exchange(is_at_end_, true)) return;
  for (const std::string& record : kept_) ready_ += record;
  kept_ = {};
  kept_bytes_ = 0;
}

std::string LineSelection::take() { return std::exchange(ready_, {}); }

}  // namespace reeve::runtime
