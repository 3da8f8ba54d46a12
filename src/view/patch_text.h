#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/patch.h"
#include "view/status.h"
#include "view/style.h"
#include "view/table.h"

// Patches as people read them. What agents wrote is harmless in all of it (LOG-3).
namespace reeve::view {

Look look_of(model::PatchState state) noexcept;
std::string status_text(model::PatchState state, const Style& style);

// "2 files +10 -3".
std::string size_text(const std::vector<model::PatchFile>& files);
// A file a line with what was added and removed, aligned.
std::vector<std::string> file_lines(const std::vector<model::PatchFile>& files, const Style& style);
// The diff with its lines coloured; nothing in it can act on a terminal, nothing is hidden. Tabs stay.
std::string diff_text(std::string_view diff, const Style& style);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table patches_table(const std::vector<model::Patch>& patches, const Style& style, std::optional<base::WallTime> now);
// Everything known about one, a field a line, its history and its diff. `now` as above.
std::string patch_details(const model::Patch& patch, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
