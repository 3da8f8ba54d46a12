#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How programs spell what may be answered.
namespace reeve::term {

struct Choice {
  // What is typed, without the Enter.
  std::string value;
  std::string label;
  // It lets the program go on with what it asks for. False for what is not known.
  bool approves = false;
  friend bool operator==(const Choice&, const Choice&) = default;
};

struct LineChoices {
  std::vector<Choice> choices;
  std::optional<std::string> default_value;
};
// "[y/N]", "(yes/no)", "[y,n,q]?", "(Y)es/(N)o", "y/n"; defaults by their capital, as "[default: x]", or "(x)" beside
// the colon or question mark at the end.
LineChoices find_line_choices(std::string_view line);

struct MenuItem {
  std::string value;
  std::string label;
  // An arrow stands before it.
  bool is_marked = false;
};
// "1) foo", "2. bar", "[3] x", "❯ 1. Yes", also several in a line as select of bash has them. Empty for any other line.
std::vector<MenuItem> find_menu_items(std::string_view line);

// Whether these words say yes.
bool approves(std::string_view words);

}  // namespace reeve::term
