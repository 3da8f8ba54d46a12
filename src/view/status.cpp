#include "view/status.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

namespace reeve::view {

using model::RunStatus;

Look look_of(RunStatus status) noexcept {
  switch (status) {
    case RunStatus::queued:
      return {"○", ".", Tint::dim};
    case RunStatus::running:
      return {"●", ">", Tint::cyan};
    case RunStatus::stalled:
      return {"▲", "!", Tint::magenta};
    case RunStatus::waiting_approval:
      return {"◆", "?", Tint::yellow};
    case RunStatus::completed:
      return {"✓", "+", Tint::green};
    case RunStatus::failed:
      return {"✗", "x", Tint::red};
    case RunStatus::failed_timeout:
      return {"◔", "T", Tint::red};
    case RunStatus::cancelled:
      return {"⊘", "-", Tint::dim};
  }
  return {"?", "?", Tint::dim};
}

// Approvals look like runs in the corresponding state.
Look look_of(model::ApprovalStatus status) noexcept {
  switch (status) {
    case model::ApprovalStatus::pending:
      return look_of(RunStatus::waiting_approval);
    case model::ApprovalStatus::approved:
      return look_of(RunStatus::completed);
    case model::ApprovalStatus::rejected:
      return look_of(RunStatus::failed);
    case model::ApprovalStatus::expired:
      return look_of(RunStatus::cancelled);
  }
  return {"?", "?", Tint::dim};
}

Look look_of(model::ExecutionStatus status) noexcept {
  switch (status) {
    case model::ExecutionStatus::running:
      return look_of(RunStatus::running);
    case model::ExecutionStatus::waiting_approval:
      return look_of(RunStatus::waiting_approval);
    case model::ExecutionStatus::completed:
      return look_of(RunStatus::completed);
    case model::ExecutionStatus::failed:
      return look_of(RunStatus::failed);
    case model::ExecutionStatus::cancelled:
      return look_of(RunStatus::cancelled);
  }
  return {"?", "?", Tint::dim};
}

Look look_of(model::NodeStatus status) noexcept {
  switch (status) {
    case model::NodeStatus::pending:
    case model::NodeStatus::ready:
      return look_of(RunStatus::queued);
    case model::NodeStatus::running:
      return look_of(RunStatus::running);
    case model::NodeStatus::waiting_approval:
      return look_of(RunStatus::waiting_approval);
    case model::NodeStatus::completed:
      return look_of(RunStatus::completed);
    case model::NodeStatus::failed:
      return look_of(RunStatus::failed);
    case model::NodeStatus::skipped:
      return {"–", "/", Tint::dim};
    case model::NodeStatus::cancelled:
      return look_of(RunStatus::cancelled);
  }
  return {"?", "?", Tint::dim};
}

namespace {

template <class Status>
std::string word_of(Status status, const Style& style) {
  const Look look = look_of(status);
  return style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(status)));
}

}  // namespace

std::string status_text(RunStatus status, const Style& style) { return word_of(status, style); }
std::string status_text(model::ApprovalStatus status, const Style& style) { return word_of(status, style); }
std::string status_text(model::ExecutionStatus status, const Style& style) { return word_of(status, style); }
std::string status_text(model::NodeStatus status, const Style& style) { return word_of(status, style); }

std::string age_text(base::Milliseconds age) {
  const auto seconds = std::max<std::int64_t>(age.count() / 1000, 0);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 60 * 60) return fmt::format("{}m", seconds / 60);
  if (seconds < 48 * 60 * 60) return fmt::format("{}h", seconds / 3600);
  return fmt::format("{}d", seconds / 86400);
}

std::string span_text(base::Milliseconds span) {
  const auto milliseconds = std::max<std::int64_t>(span.count(), 0);
  const auto seconds = milliseconds / 1000;
  if (milliseconds < 1000) return fmt::format("{}ms", milliseconds);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
  return fmt::format("{}d{:02}h", seconds / 86400, seconds % 86400 / 3600);
}

std::string clock_text(base::WallTime time, base::WallTime now) {
  constexpr std::array months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto on_the_wall = [](base::WallTime moment) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return parts;
  };
  const std::tm then = on_the_wall(time);
  const std::tm present = on_the_wall(now);
  const std::string clock = fmt::format("{:02}:{:02}", then.tm_hour, then.tm_min);
  if (then.tm_year == present.tm_year && then.tm_yday == present.tm_yday) return clock;
  const std::string day = fmt::format("{} {}", then.tm_mday, months.at(static_cast<std::size_t>(then.tm_mon)));
  return then.tm_year == present.tm_year ? fmt::format("{} {}", day, clock)
                                         : fmt::format("{} {} {}", day, then.tm_year + 1900, clock);
}

}  // namespace reeve::view
