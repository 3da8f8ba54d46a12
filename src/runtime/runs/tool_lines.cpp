#include "runtime/runs/tool_lines.h"

#include <algorithm>
#include <utility>

namespace reeve::runtime {

void ToolLines::add(std::string line, Done done) {
  line += '\n';
  const bool is_one = line.find('\n') == line.size() - 1;
  const bool has_room = waiting_.size() < max_lines && bytes_ + line.size() <= max_bytes;
  if (is_closed_ || !is_one || !has_room || line.size() > keeper::input_line_bytes) return done(false);
  bytes_ += line.size();
  waiting_.push_back({std::move(line), std::move(done)});
}

std::vector<keeper::InputLine> ToolLines::take_next() {
  std::vector<keeper::InputLine> parts;
  if (is_under_way_ || waiting_.empty()) return parts;
  is_under_way_ = true;
  ++ticket_;
  const std::string& bytes = waiting_.front().bytes;
  for (std::size_t at = 0; at < bytes.size(); at += keeper::input_bytes) {
    const std::size_t size = std::min(keeper::input_bytes, bytes.size() - at);
    parts.push_back({.ticket = ticket_,
                     .offset = static_cast<std::uint32_t>(at),
                     .part = bytes.substr(at, size),
                     .is_last = at + size == bytes.size()});
  }
  return parts;
}

std::optional<std::chrono::milliseconds> ToolLines::on_taken(const keeper::InputLineTaken& taken) {
  using Outcome = keeper::InputLineTaken::Outcome;
  if (!is_under_way_ || taken.ticket != ticket_) return std::nullopt;
  is_under_way_ = false;
  if (taken.outcome == Outcome::full) return std::exchange(pause_, std::min(2 * pause_, longest_pause));
  pause_ = first_pause;
  if (taken.outcome == Outcome::closed) {
    close();
    return std::nullopt;
  }
  const WaitingLine sent = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= sent.bytes.size();
  sent.done(true);
  return std::nullopt;
}

void ToolLines::close() {
  is_closed_ = true;
  is_under_way_ = false;
  bytes_ = 0;
  for (const WaitingLine& line : std::exchange(waiting_, {})) line.done(false);
}

}  // namespace reeve::runtime
