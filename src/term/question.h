#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::term {

struct Choice {
  std::string value;
  std::string label;
  bool approves = true;
};

struct ScreenQuestion {
  std::string question;
  std::vector<Choice> choices;
  std::optional<std::string> default_value;
  bool looks_like_question = false;
  bool is_free_text = false;
};

ScreenQuestion read_question(std::string_view last_output, int rows, int columns, bool is_secret);

}  // namespace reeve::term
