#include "view/status.h"

#include <algorithm>

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

std::string status_text(RunStatus status, const Style& style) {
  const Look look = look_of(status);
  return style.paint(look.tint, fmt::format("{} {}", style.pick(look.sign, look.ascii), base::spell(status)));
}

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

}  // namespace reeve::view
