#pragma once

#include <string>

#include "cli/command.h"
#include "view/style.h"

namespace reeve::cli {

// `-h`: examples first, then one line per option. With `is_full` (`--help`), also the full description.
std::string command_help(const Command& command, bool is_full, const view::Style& style);
// The commands of a group ("flow"), or all of them.
std::string overview(std::string_view group, const view::Style& style);
// `reeve` alone.
std::string welcome(bool is_project, const view::Style& style);

}  // namespace reeve::cli
