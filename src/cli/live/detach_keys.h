#pragma once

#include <string>
#include <string_view>

namespace reeve::cli {

// Detects Ctrl-P Ctrl-Q in typed keys, as docker does: a Ctrl-P is held back until the next key decides.
class DetachKeys {
 public:
  struct Pressed {
    // Bytes for the tool.
    std::string input;
    bool detaches = false;
  };
  // Input after the sequence is dropped.
  Pressed press(std::string_view bytes);

 private:
  bool is_held_ = false;
};

}  // namespace reeve::cli
