#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

// Ids as the user types them. Those of a project with its own state have its name before them: without it they would
// name a record of the common state folder.
namespace reeve::cli {

// "AP-1", or "shop/AP-1" if the call named its record that way.
std::string shown_id(const Call& call, std::string_view id);
// The same for every id in a text: "reeve approve shop/AP-1 --confirm=shop/AP-1".
std::string with_prefix(const Call& call, std::string_view text);
// The same for a record in full, one field per line: the id in its title or first line, and those of fields that name
// a record. Fields with what a tool said stay as they are.
std::string with_prefixed_fields(const Call& call, std::string_view text);

}  // namespace reeve::cli
