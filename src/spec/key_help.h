#pragma once

#include <span>
#include <string_view>

#include "spec/key_table.h"

// One sentence about each key, by the path of key_table.h.
namespace reeve::spec {

struct KeyHelp {
  // "tools.*.timeout"; for one word of a list of words, "notify[].on=stalled".
  std::string_view path;
  std::string_view text;
};

std::span<const KeyHelp> all_key_help(FileType type);
// Empty if there is none.
std::string_view find_key_help(FileType type, std::string_view path);
// What stands for a name of model::notify_placeholders.
std::string_view find_placeholder_help(std::string_view name);

}  // namespace reeve::spec
