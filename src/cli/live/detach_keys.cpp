#include "cli/live/detach_keys.h"

namespace reeve::cli {

DetachKeys::Pressed DetachKeys::press(std::string_view bytes) {
  constexpr char ctrl_p = '\x10';
  constexpr char ctrl_q = '\x11';
  Pressed pressed;
  for (const char byte : bytes) {
    if (is_held_ && byte == ctrl_q) {
      is_held_ = false;
      pressed.detaches = true;
      return pressed;
    }
    // Of two Ctrl-P, the first is passed to the tool.
    if (is_held_) pressed.input += ctrl_p;
    is_held_ = byte == ctrl_p;
    if (!is_held_) pressed.input += byte;
  }
  return pressed;
}

}  // namespace reeve::cli
