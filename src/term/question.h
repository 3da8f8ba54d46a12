#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "term/choices.h"
#include "term/screen.h"

namespace reeve::term {

// What a program that waits at its terminal asks, as far as its screen tells.
struct ScreenQuestion {
  // The last paragraph at or above the cursor, or what a box shows; ten lines at most, without the items of a menu.
  std::string question;
  std::vector<Choice> choices;
  // What is taken when only Enter is typed.
  std::optional<std::string> default_value;
  // It reads like one. Only for those who may not be waiting at all.
  bool looks_like_question = false;
  // No choices were found: anything may be typed.
  bool is_free_text = true;
};

// `is_secret`: a password is read; then it is the line of the prompt alone, and there are no choices.
ScreenQuestion read_question(const Screen& screen, bool is_secret);
// The end of the output is enough; of more than 256 KiB only the last are looked at.
ScreenQuestion read_question(std::string_view last_output, int rows, int columns, bool is_secret);

}  // namespace reeve::term
