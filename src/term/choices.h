#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How programs spell their possible answers.
namespace reeve::term {

struct Choice {
  // The text to type, without Enter.
  std::string value;
  std::string label;
  // The answer lets the program proceed. False if unknown.
  bool approves = false;
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct LineChoices {
  std::vector<Choice> choices;
  std::optional<std::string> default_value;
};
// "[y/N]", "(yes/no)", "[y,n,q]?", "(Y)es/(N)o", "y/n"; the default is the capital letter, "[default: x]", or "(x)"
// next to the colon or question mark at the end.
LineChoices find_line_choices(std::string_view line);

struct MenuItem {
  std::string value;
  std::string label;
  // Preceded by an arrow.
  bool is_marked = false;
};
// "1) foo", "2. bar", "[3] x", "❯ 1. Yes", also several per line as printed by bash's select. Empty for any other line.
std::vector<MenuItem> find_menu_items(std::string_view line);

// Whether these words mean yes.
bool approves(std::string_view words);

}  // namespace reeve::term
