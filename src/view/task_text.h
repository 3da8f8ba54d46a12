#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "model/task.h"
#include "view/style.h"

// Tasks as people read them. What another program wrote is harmless in all of it (LOG-3).
namespace reeve::view {

// Everything known about one, a field a line. `now` is for terminals: times are relative then; without it they are UTC
// and fields that do not apply are left out.
std::string task_details(const model::Task& task, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
