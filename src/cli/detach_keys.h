#pragma once

#include <string>
#include <string_view>

namespace reeve::cli {

// Finds Ctrl-P Ctrl-Q among the keys of a person, as docker has it: a Ctrl-P is held back until the next key shows what
// it was.
class DetachKeys {
 public:
  struct Pressed {
    // What goes to the tool.
    std::string input;
    bool detaches = false;
  };
  // What comes after the sequence is dropped.
  Pressed press(std::string_view bytes);

 private:
  bool is_held_ = false;
};

}  // namespace reeve::cli
