#include "term/question.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "base/text.h"

namespace reeve::term {

namespace {

constexpr int max_lines = 10;
constexpr std::size_t max_bytes = 4'096;
constexpr std::size_t max_output = 256UL * 1024;
// Lines below a menu: "Enter to confirm", the lower border of a box.
constexpr int max_footer = 4;

// A line of the screen without the box around it.
struct Row {
  // As on the screen.
  std::string line;
  std::string text;
  bool has_border = false;
  // Only the edge of a box, or a rule.
  bool is_edge = false;
  bool is_blank() const noexcept { return text.empty(); }
};

bool is_box(char32_t c) noexcept { return c >= 0x2500 && c <= 0x259f; }

// Strips box characters and blanks from one end.
bool strip_left(std::string_view& text) {
  bool has_border = false;
  while (!text.empty()) {
    const base::Character first = base::first_character(text);
    if (!is_box(first.value) && first.value != U' ') break;
    has_border = has_border || is_box(first.value);
    text.remove_prefix(first.length);
  }
  return has_border;
}

bool strip_right(std::string_view& text) {
  bool has_border = false;
  while (!text.empty()) {
    std::size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80U) --begin;
    const base::Character last = base::first_character(text.substr(begin));
    if (!is_box(last.value) && last.value != U' ') break;
    has_border = has_border || is_box(last.value);
    text.remove_suffix(text.size() - begin);
  }
  return has_border;
}

Row read_row(const std::string& line) {
  std::string_view text = line;
  const bool has_left = strip_left(text);
  const bool has_right = strip_right(text);
  // An ASCII box: "| text |", "+----+".
  const bool is_plain_rule = text.size() >= 3 && text.find_first_not_of("-=+_*~") == std::string_view::npos;
  if (text.size() > 2 && text.front() == '|' && text.back() == '|') text = base::trim(text.substr(1, text.size() - 2));
  if (is_plain_rule) text = {};
  const bool is_rule = text.empty() && has_left && base::trim(line).find(' ') == std::string_view::npos;
  return {.line = line,
          .text = std::string(text),
          .has_border = has_left && (has_right || text.empty()),
          .is_edge = is_rule || is_plain_rule};
}

// The screen as logical lines, without wrapping, and the cursor's position in them.
struct Page {
  // Those that have scrolled off the screen come first.
  std::vector<Row> rows;
  std::size_t columns = 0;
  // The first row that is on the screen.
  int top = 0;
  int cursor = 0;
  // The last row with text at or above the cursor; -1 if there is none on the screen.
  int last = -1;
  std::string before_cursor;
};

Page read_page(const Screen& screen) {
  Page page;
  const Screen::Position cursor = screen.cursor();
  const auto columns = static_cast<std::size_t>(screen.columns());
  page.columns = columns;
  std::string line;
  const auto add = [&](const std::string& part, bool may_continue) {
    line += part;
    // A row that is filled to its last column continues in the next, unless it is the edge of a box.
    Row whole = read_row(line);
    const bool goes_on = may_continue && base::display_width(part) >= columns && !whole.has_border && !whole.is_edge &&
                         line.size() < max_bytes;
    if (goes_on) return;
    page.rows.push_back(std::move(whole));
    line.clear();
  };
  for (const std::string& scrolled : screen.scrolled()) add(scrolled, true);
  page.top = static_cast<int>(page.rows.size());
  for (int row = 0; row < screen.rows(); ++row) {
    if (row == cursor.row) {
      page.cursor = static_cast<int>(page.rows.size());
      page.before_cursor = line + screen.line(row, cursor.column);
    }
    add(screen.line(row), row + 1 < screen.rows());
  }
  for (int row = page.cursor; row >= page.top && page.last < 0; --row) {
    if (!page.rows[static_cast<std::size_t>(row)].is_blank()) page.last = row;
  }
  return page;
}

const Row& row_of(const Page& page, int row) { return page.rows[static_cast<std::size_t>(row)]; }

struct Menu {
  std::vector<MenuItem> items;
  // The rows of its items.
  int first = 0;
  int last = -1;
  bool has_marker = false;
  bool is_found() const noexcept { return items.size() >= 2; }
};

bool is_before(const MenuItem& a, const MenuItem& b) {
  return a.value.size() != b.value.size() ? a.value.size() < b.value.size() : a.value < b.value;
}

// Consecutive from 0, 1 or a, in order.
bool is_sequence(const std::vector<MenuItem>& items) {
  const auto rank = [](const MenuItem& item) {
    const bool is_letter = base::is_ascii_letter(item.value.front());
    return is_letter ? base::to_ascii_lower(item.value).front() - 'a' + 1 : std::stoi(item.value);
  };
  if (rank(items.front()) > 1) return false;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (rank(items[i]) != rank(items[i - 1]) + 1) return false;
  }
  return true;
}

// Searches around the cursor: from a few lines below it upwards, to the first line that is neither an item nor part of
// one.
Menu find_menu(const Page& page) {
  Menu menu;
  int row = page.cursor;
  // The cursor may be on any item, or on the question above.
  while (row + 1 < static_cast<int>(page.rows.size()) && row < page.cursor + max_lines * 2 &&
         !row_of(page, row + 1).is_blank()) {
    ++row;
  }
  const int lowest = std::max(page.last, row) - max_footer;
  std::vector<std::vector<MenuItem>> found;
  for (; row >= 0; --row) {
    auto items = find_menu_items(row_of(page, row).text);
    if (!items.empty()) {
      if (found.empty()) menu.last = row;
      menu.first = row;
      found.push_back(std::move(items));
      continue;
    }
    if (found.empty() ? row < lowest : true) {
      // The second line of an item is indented further than its number.
      const bool belongs = !found.empty() && row > 0 && !row_of(page, row).is_blank() &&
                           !find_menu_items(row_of(page, row - 1).text).empty() && menu.first - row == 1;
      if (!belongs) break;
    }
  }
  for (const std::vector<MenuItem>& items : found | std::views::reverse) {
    menu.items.insert(menu.items.end(), items.begin(), items.end());
  }
  menu.has_marker = std::ranges::any_of(menu.items, &MenuItem::is_marked);
  if (!menu.is_found()) return {};
  // Items in several columns are read out of order.
  std::ranges::sort(menu.items, is_before);
  if (!is_sequence(menu.items)) return {};
  return menu;
}

bool is_asking(std::string_view text) { return text.ends_with('?'); }

// "Reason: may I?": a remark of the program, not its question.
bool has_label(std::string_view text) {
  const std::size_t colon = text.find(": ");
  return colon != std::string_view::npos && text.substr(0, colon).find(' ') == std::string_view::npos;
}

// Whether `text` continues the line above it, which its program wrapped at a blank: its first word would not have fit.
bool continues_line(const Row& above, std::string_view text, std::size_t columns) {
  // Room for a box and its padding.
  constexpr std::size_t margin = 8;
  const bool begins_inside = !text.empty() && text.front() >= 'a' && text.front() <= 'z';
  if (!begins_inside || above.is_blank() || above.is_edge) return false;
  if (std::string_view(".:?!;").find(above.text.back()) != std::string_view::npos) return false;
  const std::string_view word = text.substr(0, std::min(text.find(' '), text.size()));
  return base::display_width(above.text) + 1 + base::display_width(word) + margin > columns;
}

bool has_words(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || (static_cast<unsigned char>(c) & 0x80U) != 0;
  });
}

// The line in this row, with the lines above that it continues.
std::string read_line(const Page& page, int row) {
  constexpr int max_joined = 3;
  std::string text = row_of(page, row).text;
  for (int joined = 0; joined < max_joined && row > 0; ++joined, --row) {
    const Row& above = row_of(page, row - 1);
    if (!continues_line(above, text, page.columns)) break;
    text = above.text + " " + text;
  }
  // A bare "> " says nothing without the line above it.
  if (!has_words(text) && row > 0 && !row_of(page, row - 1).is_blank()) text = row_of(page, row - 1).text + "\n" + text;
  return text;
}

std::string bounded(std::string_view text) { return std::string(base::trim(base::truncate_utf8(text, max_bytes))); }

// The row above a menu that asks; the nearest row with text if none does, -1 without any.
int find_asking_row(const Page& page, int row) {
  while (row >= 0 && row_of(page, row).is_blank()) --row;
  if (row < 0 || row_of(page, row).text.ends_with(':')) return row;
  for (int above = row; above >= 0 && row - above < max_lines; --above) {
    const Row& line = row_of(page, above);
    if (line.is_edge) break;
    if (is_asking(line.text) && !has_label(line.text)) return above;
  }
  return row;
}

// "[=====>    ]", "(3/10)", "[45%]": not a prompt.
bool is_progress(std::string_view text) {
  const char close = text.back();
  const std::size_t open = text.rfind(close == ']' ? '[' : '(');
  if ((close != ']' && close != ')') || open == std::string_view::npos) return false;
  const std::string_view content = text.substr(open + 1, text.size() - open - 2);
  const bool is_bar = content.find_first_not_of("=-#>.* ") == std::string_view::npos;
  const bool counts = content.find_first_of("/%") != std::string_view::npos &&
                      content.find_first_not_of("0123456789/% ") == std::string_view::npos;
  return is_bar || counts;
}

// The text before the cursor looks like a prompt.
bool ends_like_prompt(std::string_view before_cursor) {
  const std::string_view text = base::trim(before_cursor);
  if (text.empty() || is_progress(text)) return false;
  constexpr std::array<std::string_view, 9> endings = {"?", ":", ">", "]", ")", "❯", "›", "»", "$"};
  return std::ranges::any_of(endings, [&](std::string_view ending) { return text.ends_with(ending); }) || text == "#" ||
         (text.ends_with('#') && text.find("##") == std::string_view::npos && text.find('@') != std::string_view::npos);
}

ScreenQuestion read_secret(const Page& page) {
  ScreenQuestion result;
  std::string_view line = base::trim(page.before_cursor);
  const bool is_at_cursor = !line.empty();
  if (!is_at_cursor) line = row_of(page, page.last).text;
  result.looks_like_question = is_at_cursor ? ends_like_prompt(line) : line.ends_with('?') || line.ends_with(':');
  // Stars that echo typed characters.
  line = line.substr(0, line.find_last_not_of('*') + 1);
  result.question = bounded(line);
  result.prompt_line = static_cast<std::size_t>(page.last);
  return result;
}

// The question on a page that is not empty, without the page itself.
ScreenQuestion read_shown(const Page& page, const Menu& menu) {
  ScreenQuestion result;
  const Row& last = row_of(page, std::max(page.last, 0));
  const bool is_at_cursor = page.last == page.cursor;
  LineChoices line = find_line_choices(last.text);
  result.default_value = line.default_value;
  const bool ends_well = is_at_cursor ? ends_like_prompt(page.before_cursor) : is_asking(last.text);
  result.looks_like_question = ends_well || line.choices.size() >= 2;
  // Choices in the line itself take precedence over a list above it.
  if (!line.choices.empty() || !menu.is_found()) {
    result.choices = std::move(line.choices);
    result.question = bounded(read_line(page, std::max(page.last, 0)));
    result.prompt_line = static_cast<std::size_t>(std::max(page.last, 0));
    return result;
  }
  for (const MenuItem& item : menu.items) {
    result.choices.push_back({.value = item.value, .label = item.label, .approves = approves(item.label)});
    if (item.is_marked && !result.default_value) result.default_value = item.value;
  }
  const int asking = find_asking_row(page, menu.first - 1);
  std::string nearest;
  if (asking >= 0) {
    result.question = read_line(page, asking);
    int row = menu.first - 1;
    while (row_of(page, row).is_blank()) --row;
    nearest = row_of(page, row).text;
  }
  result.prompt_line = static_cast<std::size_t>(std::max(asking, 0));
  // A line below the menu may be the actual prompt: "Your choice: ", but not "Press enter to confirm".
  if (page.last > menu.last && is_at_cursor && ends_like_prompt(page.before_cursor)) {
    if (!result.question.empty()) result.question += '\n';
    result.question += last.text;
    nearest = last.text;
  }
  result.question = bounded(result.question);
  const bool is_introduced = is_asking(nearest) || nearest.ends_with(':');
  result.looks_like_question = result.looks_like_question || menu.has_marker || is_introduced;
  return result;
}

}  // namespace

std::string strip_box(const std::string& line) { return read_row(line).text; }

ScreenQuestion read_question(const Screen& screen, bool is_secret) {
  const Page page = read_page(screen);
  const Menu menu = find_menu(page);
  ScreenQuestion result;
  if (is_secret && page.last >= 0) {
    result = read_secret(page);
  } else if (page.last >= 0 || menu.is_found()) {
    result = read_shown(page, menu);
  }
  result.is_free_text = result.choices.empty();
  for (const Row& row : page.rows) result.lines.push_back(row.line);
  return result;
}

ScreenQuestion read_question(std::string_view last_output, int rows, int columns, bool is_secret) {
  Screen screen(rows, columns);
  if (last_output.size() > max_output) last_output.remove_prefix(last_output.size() - max_output);
  screen.feed(last_output);
  return read_question(screen, is_secret);
}

}  // namespace reeve::term
