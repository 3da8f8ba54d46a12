#include "runtime/tools/result_text.h"

#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "runtime/tools/tool_host.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t max_notes = 2 * base::limits::kib;
constexpr std::size_t max_message = 4 * base::limits::kib;
constexpr std::size_t max_shown = 500;

}  // namespace

ResultText::ResultText() : room_(max_hosted_content - max_notes - 1) {}

bool ResultText::add(std::string_view text) {
  if (is_full_) return false;
  // Whatever follows the cut cannot fit either, so no more than the room is decoded.
  const bool is_long = text.size() > room_;
  const std::string clean = base::replace_invalid_utf8(is_long ? base::truncate_utf8(text, room_) : text);
  const std::string_view fitting = base::truncate_utf8(clean, room_);
  text_ += fitting;
  room_ -= fitting.size();
  is_full_ = is_long || fitting.size() < clean.size();
  return !is_full_;
}

bool ResultText::add_whole(std::string_view text) {
  if (is_full_) return false;
  const std::string clean = text.size() > room_ ? std::string() : base::replace_invalid_utf8(text);
  is_full_ = text.size() > room_ || clean.size() > room_;
  if (is_full_) return false;
  text_ += clean;
  room_ -= clean.size();
  return true;
}

void ResultText::note(std::string_view sentence) {
  const std::string clean = base::replace_invalid_utf8(base::truncate_utf8(sentence, max_shown));
  if (notes_.size() + clean.size() + 3 > max_notes) return;
  notes_.append("[").append(clean).append("]\n");
}

wire::CallResult ResultText::finish() && {
  if (!notes_.empty() && !text_.empty() && !text_.ends_with('\n')) text_ += '\n';
  text_ += notes_;
  return {.is_error = false, .content = std::move(text_), .hint = {}};
}

wire::CallResult make_failure(std::string_view message) {
  return {.is_error = true,
          .content = std::string(base::truncate_utf8(base::replace_invalid_utf8(message), max_message)),
          .hint = {}};
}

std::string shown(std::string_view path) { return base::quoted(base::truncate_utf8(path, max_shown)); }

}  // namespace reeve::runtime
