#include "runtime/output/line_splitter.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace reeve::runtime {

namespace {

// Memory kept per stream; the rest, used by a long line, is freed.
constexpr std::size_t kept_bytes = std::size_t{64} << 10U;

std::size_t find_newline(std::string_view bytes) noexcept {
  const void* found = bytes.empty() ? nullptr : std::memchr(bytes.data(), '\n', bytes.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
}

// The longest prefix that ends between characters. Invalid UTF-8 is split anywhere.
std::size_t find_cut(std::string_view bytes) noexcept {
  for (std::size_t back = 1; back <= 3 && back < bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

std::string_view without_return(std::string_view text) noexcept {
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

LineSplitter::LineSplitter(Sink sink, std::size_t max_bytes) : sink_(std::move(sink)), max_bytes_(max_bytes) {
  REEVE_ASSERT(max_bytes >= 8);
}

void LineSplitter::feed(std::uint64_t position, std::string_view bytes) {
  if (bytes.empty()) return;
  fed_ = position + bytes.size();
  std::size_t at = 0;
  while (!pending_.empty() && at < bytes.size()) at += complete_pending(position + at, bytes.substr(at));
  while (at < bytes.size()) {
    const std::string_view rest = bytes.substr(at);
    const std::uint64_t here = position + at;
    const std::size_t newline = find_newline(rest.substr(0, max_bytes_ + 1));
    if (newline == std::string_view::npos && rest.size() > max_bytes_) {
      const std::size_t cut = find_cut(rest.substr(0, max_bytes_));
      deliver({.position = here, .text = rest.substr(0, cut), .is_partial = true, .end = here + cut});
      at += cut;
    } else if (newline == std::string_view::npos) {
      hold(here, rest);
      return;
    } else {
      deliver({.position = here, .text = without_return(rest.substr(0, newline)), .end = here + newline + 1});
      at += newline + 1;
    }
  }
}

void LineSplitter::finish() {
  if (pending_.empty()) return;
  deliver({.position = start_, .text = pending_, .end = tail_.back() + 1});
  pending_ = std::string();
}

void LineSplitter::flush() {
  if (!pending_.empty()) cut_pending();
}

void LineSplitter::deliver(Line line) {
  line.is_continuation = is_inside_;
  is_inside_ = line.is_partial;
  sink_(line);
}

void LineSplitter::hold(std::uint64_t position, std::string_view bytes) {
  if (pending_.empty()) start_ = position;
  pending_ += bytes;
  for (std::size_t i = bytes.size() - std::min(bytes.size(), tail_.size()); i < bytes.size(); ++i) {
    std::ranges::rotate(tail_, tail_.begin() + 1);
    tail_.back() = position + i;
  }
}

// Adds bytes to the buffered line up to its end; returns how many were used.
std::size_t LineSplitter::complete_pending(std::uint64_t position, std::string_view bytes) {
  const std::size_t room = max_bytes_ - pending_.size();
  const std::size_t newline = find_newline(bytes.substr(0, room + 1));
  if (newline != std::string_view::npos) {
    pending_ += bytes.substr(0, newline);
    deliver({.position = start_, .text = without_return(pending_), .end = position + newline + 1});
    pending_.clear();
    if (pending_.capacity() > kept_bytes) pending_ = std::string();
    return newline + 1;
  }
  const std::size_t taken = std::min(room, bytes.size());
  hold(position, bytes.substr(0, taken));
  if (taken < bytes.size()) cut_pending();
  return taken;
}

// The line exceeds the limit: delivers a piece and keeps at most three bytes.
void LineSplitter::cut_pending() {
  const std::size_t cut = find_cut(pending_);
  const std::size_t left = pending_.size() - cut;
  deliver({.position = start_,
           .text = std::string_view(pending_).substr(0, cut),
           .is_partial = true,
           .end = tail_[tail_.size() - left - 1] + 1});
  pending_.erase(0, cut);
  if (left > 0) start_ = tail_[tail_.size() - left];
}

}  // namespace reeve::runtime
