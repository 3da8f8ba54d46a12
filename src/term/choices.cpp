#include "term/choices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ranges>

#include "base/text.h"

namespace reeve::term {

namespace {

constexpr std::size_t max_choices = 26;
constexpr std::size_t longest_word = 20;
constexpr std::size_t longest_default = 200;

constexpr std::array<std::string_view, 14> yes_words = {"y",      "yes",     "yeah",     "ok",      "okay",
                                                        "accept", "allow",   "approve",  "confirm", "agree",
                                                        "always", "proceed", "continue", "all"};
// Words that mark a list as answers rather than a path or a fraction.
constexpr std::array<std::string_view, 20> other_words = {
    "n",    "no",   "none", "never", "quit", "abort", "cancel", "skip",   "retry",   "ignore",
    "help", "edit", "view", "apply", "deny", "once",  "trust",  "reject", "decline", "exit"};
// Text in brackets next to a colon that is not a default value.
constexpr std::array<std::string_view, 9> remarks = {"optional", "required", "hidden", "esc", "end",
                                                     "empty",    "again",    "s",      "es"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::ranges::find(list, base::to_ascii_lower(word)) != list.end();
}

bool is_answer(std::string_view word) { return contains(yes_words, word) || contains(other_words, word); }
bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= longest_word && base::is_ascii_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return base::is_ascii_letter(c) || c == '-' || c == '\''; });
}
bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, base::is_ascii_digit); }
bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }

// An outermost pair of brackets.
struct Group {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view content;
};

std::vector<Group> find_groups(std::string_view line) {
  std::vector<Group> groups;
  std::string closers;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size() && groups.size() < 32; ++i) {
    if (line[i] == '(' || line[i] == '[') {
      if (closers.empty()) begin = i;
      closers += line[i] == '(' ? ')' : ']';
    } else if (!closers.empty() && line[i] == closers.back()) {
      closers.pop_back();
      if (closers.empty()) groups.push_back({begin, i + 1, line.substr(begin + 1, i - begin - 1)});
    }
  }
  return groups;
}

// By the separator with the most parts: git lists the key `/` too, "[y,n,q,a,d,j,J,g,/,e,?]".
std::vector<std::string_view> split_list(std::string_view content) {
  constexpr std::string_view separators = "/|,";
  const char separator =
      *std::ranges::max_element(separators, {}, [&](char c) { return std::ranges::count(content, c); });
  if (content.find(separator) != std::string_view::npos) return base::split(content, separator);
  constexpr std::string_view either = " or ";
  const std::size_t at = content.find(either);
  if (at == std::string_view::npos) return {};
  return {content.substr(0, at), content.substr(at + either.size())};
}

std::string label_of(std::string_view value) {
  const std::string word = base::to_ascii_lower(value);
  if (word == "y") return "yes";
  if (word == "n") return "no";
  return std::string(value);
}

Choice make_choice(std::string_view value) {
  return {.value = std::string(value), .label = label_of(value), .approves = approves(value)};
}

// The only capitalized word, unless it is a key of its own: git has `j` and `J`, and `K` without `k`.
std::optional<std::size_t> find_capital(const std::vector<std::string_view>& words) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_upper(words[i].front())) continue;
    if (found) return std::nullopt;
    found = i;
  }
  if (!found || words.size() < 2) return std::nullopt;
  const std::string_view word = words[*found];
  const bool is_listed_twice = std::ranges::find(words, base::to_ascii_lower(word)) != words.end();
  constexpr std::size_t few = 4;
  const bool is_key = word.size() == 1 && words.size() > few && !is_answer(word);
  return is_listed_twice || is_key ? std::nullopt : found;
}

// In "[y]/n" the bracketed word is the default; any other bracketed word, and a mark such as "?", hints at further
// input.
LineChoices make_list(const std::vector<std::string_view>& parts) {
  std::vector<std::string_view> words;
  std::optional<std::size_t> marked;
  for (std::string_view part : parts) {
    part = base::trim(part);
    if (part.starts_with('[') && part.ends_with(']') && is_answer(part.substr(1, part.size() - 2))) {
      part = part.substr(1, part.size() - 2);
      marked = words.size();
    }
    const bool is_mark = part.size() == 1 && std::ispunct(static_cast<unsigned char>(part.front())) != 0;
    if (part.starts_with('[') || part.starts_with('<') || is_mark) continue;
    const bool is_digit = part.size() == 1 && base::is_ascii_digit(part.front());
    if (!is_word(part) && !is_digit) return {};
    words.push_back(part);
  }
  const bool are_keys = words.size() > 2 && !std::ranges::all_of(words, is_number) &&
                        std::ranges::all_of(words, [](std::string_view word) { return word.size() == 1; });
  const bool are_answers = are_keys || std::ranges::any_of(words, is_answer);
  if (words.size() < 2 || words.size() > max_choices || !are_answers) return {};
  LineChoices found;
  const auto capital = find_capital(words);
  for (const std::string_view word : words) {
    found.choices.push_back(make_choice(capital ? base::to_ascii_lower(word) : std::string(word)));
  }
  if (const auto chosen = marked ? marked : capital) found.default_value = found.choices[*chosen].value;
  return found;
}

// "[default: x]", "(default=x)", "[default x]".
std::optional<std::string> find_named_default(std::string_view content) {
  constexpr std::string_view name = "default";
  if (base::to_ascii_lower(content.substr(0, name.size())) != name || content.size() == name.size())
    return std::nullopt;
  std::string_view rest = base::trim(content.substr(name.size()));
  if (rest.starts_with("is ")) rest.remove_prefix(3);
  rest = base::trim(rest.substr(std::min(rest.find_first_not_of(":="), rest.size())));
  if (rest.size() >= 2 && rest.front() == rest.back() && (rest.front() == '\'' || rest.front() == '"')) {
    rest = rest.substr(1, rest.size() - 2);
  }
  if (rest.empty() || rest.size() > longest_default) return std::nullopt;
  return std::string(rest);
}

// "name: (x)", "name (x):", "name [x]:", "Is this OK? (yes)".
std::optional<std::string> find_bare_default(std::string_view line, const Group& group) {
  const std::string_view before = base::trim(line.substr(0, group.begin));
  const std::string_view behind = base::trim(line.substr(group.end));
  const bool is_beside = behind == ":" || behind == "?" || behind == ">" ||
                         (behind.empty() && (before.ends_with(':') || before.ends_with('?')));
  const std::string_view content = group.content;
  const bool is_range = content.find('-') != std::string_view::npos && std::ranges::all_of(content, [](char c) {
                          return base::is_ascii_digit(c) || c == '-' || c == ' ';
                        });
  const bool is_value = !content.empty() && content.size() <= longest_default && !contains(remarks, content) &&
                        content.find(' ') == std::string_view::npos && !is_range && !before.empty();
  return is_beside && is_value ? std::optional(std::string(content)) : std::nullopt;
}

// "(Y)es/(N)o", "[A]bort, [R]etry", "[s]kip tests": a bracketed letter that begins a word, with the words that follow.
std::vector<Choice> find_lettered(std::string_view line, const std::vector<Group>& groups) {
  std::vector<Choice> choices;
  for (const Group& group : groups) {
    if (group.content.size() != 1 || !base::is_ascii_letter(group.content.front())) continue;
    std::size_t end = group.end;
    while (end < line.size() && base::is_ascii_letter(line[end])) ++end;
    if (end == group.end || choices.size() == max_choices) continue;
    end = std::min(line.find_first_of("([,/|;:?!", end), line.size());
    std::string_view rest = base::trim(line.substr(group.end, end - group.end));
    if (rest.ends_with(" or")) rest = base::trim(rest.substr(0, rest.size() - 3));
    const std::string label = std::string(group.content) + std::string(rest);
    choices.push_back({.value = base::to_ascii_lower(group.content), .label = label, .approves = approves(label)});
  }
  if (choices.size() < 2) choices.clear();
  return choices;
}

// "Continue? y/n"
LineChoices find_bare_list(std::string_view line) {
  for (std::string_view word : base::split(line, ' ')) {
    word = word.substr(0, word.find_last_not_of("?:.") + 1);
    if (word.find('/') == std::string_view::npos) continue;
    const auto parts = base::split(word, '/');
    const bool is_yes_no = parts.size() == 2 && std::ranges::all_of(parts, [](std::string_view part) {
                             const std::string lower = base::to_ascii_lower(part);
                             return lower == "y" || lower == "n" || lower == "yes" || lower == "no";
                           });
    if (is_yes_no) return make_list(parts);
  }
  return {};
}

// "rm: remove regular file 'x'?": coreutils programs do not list their answers.
bool is_coreutils_question(std::string_view line) {
  constexpr std::array<std::string_view, 4> tools = {"rm", "cp", "mv", "ln"};
  std::string_view name = line.substr(0, line.find(": "));
  name.remove_prefix(name.rfind('/') + 1);
  return line.ends_with('?') && std::ranges::find(tools, name) != tools.end();
}

// Strips blanks and an arrow that marks an item.
bool strip_marker(std::string_view& line) {
  constexpr std::array<std::string_view, 8> markers = {"❯", ">", "›", "→", "▶", "●", "*", "➤"};
  line = base::trim(line);
  for (const std::string_view marker : markers) {
    if (!line.starts_with(marker)) continue;
    line = base::trim(line.substr(marker.size()));
    return true;
  }
  return false;
}

// "1) foo" at the beginning: the number, and the length of the number with its punctuation.
std::optional<std::pair<std::string, std::size_t>> read_number(std::string_view line) {
  const char open = line.empty() ? ' ' : line.front();
  std::size_t at = open == '[' || open == '(' ? 1 : 0;
  const std::size_t begin = at;
  while (at < line.size() && base::is_ascii_digit(line[at])) ++at;
  std::size_t length = at - begin;
  const bool is_letter = length == 0 && at + 1 < line.size() && base::is_ascii_letter(line[at]) && line[at + 1] == ')';
  if (is_letter) at += length = 1;
  if (length == 0 || length > 3 || at >= line.size()) return std::nullopt;
  const std::string_view closers = open == '[' ? "]" : open == '(' || is_letter ? ")" : ".):";
  if (closers.find(line[at]) == std::string_view::npos) return std::nullopt;
  ++at;
  if (at >= line.size() || line[at] != ' ') return std::nullopt;
  return std::pair(std::string(line.substr(begin, length)), at);
}

}  // namespace

bool approves(std::string_view words) {
  words = base::trim(words);
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(words, base::is_ascii_letter) - words.begin());
  return contains(yes_words, words.substr(0, end));
}

LineChoices find_line_choices(std::string_view line) {
  const std::vector<Group> groups = find_groups(line);
  LineChoices found;
  std::optional<std::string> named;
  for (const Group& group : groups | std::views::reverse) {
    if (!named) named = find_named_default(group.content);
    if (found.choices.empty()) found = make_list(split_list(group.content));
  }
  if (found.choices.empty()) found.choices = find_lettered(line, groups);
  if (found.choices.empty()) found = find_bare_list(line);
  if (found.choices.empty() && is_coreutils_question(line)) return {{make_choice("y"), make_choice("n")}, "n"};
  if (!named && found.choices.empty() && !groups.empty()) named = find_bare_default(line, groups.back());
  if (!named) return found;
  found.default_value = named;
  const std::string lower = base::to_ascii_lower(*named);
  if (found.choices.empty() && (lower == "yes" || lower == "no")) {
    found.choices = {make_choice("yes"), make_choice("no")};
    found.default_value = lower;
  }
  // "Ok to proceed? (y)"
  if (found.choices.empty() && (lower == "y" || lower == "n")) {
    found.choices = {make_choice("y"), make_choice("n")};
    found.default_value = lower;
  }
  return found;
}

std::vector<MenuItem> find_menu_items(std::string_view line) {
  std::vector<MenuItem> items;
  const bool is_marked = strip_marker(line);
  auto number = read_number(line);
  while (number && items.size() < max_choices) {
    std::string_view label = base::trim(line.substr(number->second));
    // Another column begins after two blanks and a number.
    std::optional<std::pair<std::string, std::size_t>> next;
    std::size_t gap = label.find("  ");
    for (; gap != std::string_view::npos; gap = label.find("  ", gap + 1)) {
      const std::size_t text = label.find_first_not_of(' ', gap);
      if (text == std::string_view::npos) break;
      next = read_number(label.substr(text));
      if (!next) continue;
      line = label.substr(text);
      label = base::trim(label.substr(0, gap));
      break;
    }
    if (label.empty()) return {};
    items.push_back({.value = number->first, .label = std::string(label), .is_marked = is_marked && items.empty()});
    number = next;
  }
  return items;
}

}  // namespace reeve::term
