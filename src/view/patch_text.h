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

// Patches as text for people. Text from agents is sanitized (LOG-3).
namespace reeve::view {

Look look_of(model::PatchState state) noexcept;
std::string status_text(model::PatchState state, const Style& style);

// "2 files +10 -3".
std::string size_text(const std::vector<model::PatchFile>& files);
// One line per file with the lines added and removed, aligned.
std::vector<std::string> file_lines(const std::vector<model::PatchFile>& files, const Style& style);
// The diff with coloured lines; control characters are made visible, nothing is hidden. Tabs are kept.
std::string diff_text(std::string_view diff, const Style& style);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table patches_table(const std::vector<model::Patch>& patches, const Style& style, std::optional<base::WallTime> now);
// One patch in full, one field per line, with its history and diff. `now` as above.
std::string patch_details(const model::Patch& patch, const Style& style, std::optional<base::WallTime> now);

}  // namespace reeve::view
