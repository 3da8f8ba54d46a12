#pragma once

#include <string>
#include <string_view>
#include <vector>

// Commands of other tools that people try: `ps`, `kill`, `rm`. They are not commands of Reeve, because each would be a
// second name for something, but the error points to the right command.
namespace reeve::cli {

// The advice for an unknown command, or for one of a group (`flow`), with the id from `rest`, the words that followed
// it, if there is one; empty if the word is not known from elsewhere.
std::string find_familiar(std::string_view group, std::string_view word, const std::vector<std::string>& rest);

}  // namespace reeve::cli
