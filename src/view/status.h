#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/run.h"
#include "view/style.h"

// One vocabulary on every surface (UX): glyph, word, colour.
namespace reeve::view {

struct Look {
  std::string_view sign;
  std::string_view ascii;
  Tint tint;
};
Look look_of(model::RunStatus status) noexcept;
Look look_of(model::ApprovalStatus status) noexcept;
Look look_of(model::ExecutionStatus status) noexcept;
Look look_of(model::NodeStatus status) noexcept;
// "● running", in its colour.
std::string status_text(model::RunStatus status, const Style& style);
std::string status_text(model::ApprovalStatus status, const Style& style);
std::string status_text(model::ExecutionStatus status, const Style& style);
std::string status_text(model::NodeStatus status, const Style& style);

// "12m": the age in its largest unit.
std::string age_text(base::Milliseconds age);
// "6m12s": a duration in its two largest units.
std::string span_text(base::Milliseconds span);
// "14:51", and on another day "16 Nov 14:51", in local time.
std::string clock_text(base::WallTime time, base::WallTime now);

}  // namespace reeve::view
