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
  // The prompt's own line, without the text before it: the line that asks, above a menu also the line below it that
  // reads the choice. Long lines that the program wrapped are joined.
  std::string question;
  std::vector<Choice> choices;
  // The answer chosen by pressing only Enter.
  std::optional<std::string> default_value;
  // The text looks like a question. Used only if it is uncertain that the program is waiting.
  bool looks_like_question = false;
  // No choices were found: any text may be typed.
  bool is_free_text = true;
  // The screen from top to bottom, with its boxes, below the lines that have scrolled off it; a line that continues in
  // the next row is one line.
  std::vector<std::string> lines;
  // The line of the prompt in `lines`.
  std::size_t prompt_line = 0;
};

// A line of the screen without the box around it.
std::string strip_box(const std::string& line);

// `is_secret`: a password is being read; then the question is only the prompt's line, without choices.
ScreenQuestion read_question(const Screen& screen, bool is_secret);
// Only the last 256 KiB of output are used.
ScreenQuestion read_question(std::string_view last_output, int rows, int columns, bool is_secret);

}  // namespace reeve::term
