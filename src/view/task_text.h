#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/task.h"
#include "view/style.h"

// Tasks as text for people. Text from other programs is sanitized (LOG-3).
namespace reeve::view {

// One task in full, one field per line. `now` is for terminals: times are relative then; without it they are UTC and
// fields that do not apply are omitted.
std::string task_details(const model::Task& task, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
