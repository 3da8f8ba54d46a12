#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "view/style.h"

namespace reeve::cli {

// `-h`: examples first, then the command's own options. With `is_full` (`--help`), also the options of every command
// and the full description.
std::string command_help(const Command& command, bool is_full, const view::Style& style);
// The commands of a group ("flow"), or all of them; without `is_full`, only the names of the latter.
std::string overview(std::string_view group, bool is_full, const view::Style& style);
// "reeve flow graph FILE [options]"
std::string usage_of(const Command& command);
// What `reeve` is for, after its name.
std::string_view about_reeve();
// Calls that show what Reeve is for.
const std::vector<Example>& first_examples();
// `reeve` alone.
std::string welcome(bool is_project, const view::Style& style);

}  // namespace reeve::cli
