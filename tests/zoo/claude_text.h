#pragma once

#include <string>
#include <string_view>

namespace reeve::zoo {

// The decoded text of the first member with that name, wherever it is; escaped quotes cannot look like one. Empty if
// there is none.
std::string find_text(std::string_view document, std::string_view key);
// A JSON string.
std::string quote(std::string_view text);

// The output of a shell command that reads `input`; its exit code is 128 + the signal that ended it.
struct HookEnd {
  std::string out;
  int code = -1;
};
HookEnd run_hook(const std::string& command, const std::string& input);

}  // namespace reeve::zoo
