#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "term/choices.h"
#include "term/screen.h"

namespace reeve::term {

// The question of a program that waits for terminal input, as read from its screen.
struct ScreenQuestion {
  // The last paragraph at or above the cursor, or the text of a box; at most ten lines, without menu items.
  std::string question;
  std::vector<Choice> choices;
  // The answer chosen by pressing only Enter.
  std::optional<std::string> default_value;
  // The text looks like a question. Used only if it is uncertain that the program is waiting.
  bool looks_like_question = false;
  // No choices were found: any text may be typed.
  bool is_free_text = true;
};

// `is_secret`: a password is being read; then the question is only the prompt's line, without choices.
ScreenQuestion read_question(const Screen& screen, bool is_secret);
// Only the last 256 KiB of output are used.
ScreenQuestion read_question(std::string_view last_output, int rows, int columns, bool is_secret);

}  // namespace reeve::term
