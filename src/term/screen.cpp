#include "term/screen.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vterm.h>

#include "base/error.h"
#include "base/invisible.h"
#include "base/text.h"

namespace reeve::term {

namespace {

// libvterm does not support smaller screens.
constexpr int fewest = 2;

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6U));
    put(0x80 | (c & 0x3fU));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12U));
    put(0x80 | (c >> 6U & 0x3fU));
    put(0x80 | (c & 0x3fU));
  } else {
    put(0xf0 | (c >> 18U));
    put(0x80 | (c >> 12U & 0x3fU));
    put(0x80 | (c >> 6U & 0x3fU));
    put(0x80 | (c & 0x3fU));
  }
}

bool is_character(std::uint32_t c) noexcept {
  return c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) && !base::is_harmful(static_cast<char32_t>(c)) &&
         !base::is_invisible(static_cast<char32_t>(c));
}

void append_cell(std::string& text, const VTermScreenCell& cell) {
  // The second half of a wide character has no character of its own.
  constexpr auto second_half = static_cast<std::uint32_t>(-1);
  if (cell.chars[0] == second_half) return;
  if (cell.chars[0] == 0) text += ' ';
  for (const std::uint32_t c : cell.chars) {
    if (c == 0) break;
    append_utf8(text, is_character(c) ? static_cast<char32_t>(c) : U'\xfffd');
  }
}

void trim_right(std::string& text) { text.resize(text.find_last_not_of(' ') + 1); }

// The end of the first sequence that clears the screen or its scrolled lines; npos without one.
std::size_t find_clear(std::string_view bytes) {
  std::size_t end = std::string_view::npos;
  for (const std::string_view sequence : {"\x1b[2J", "\x1b[3J",
                                          "\x1b"
                                          "c"}) {
    const std::size_t begin = bytes.substr(0, end).find(sequence);
    if (begin != std::string_view::npos) end = begin + sequence.size();
  }
  return end;
}

}  // namespace

struct Screen::Callbacks {
  static int push_line(int columns, const VTermScreenCell* cells, void* screen) {
    std::string text;
    for (int column = 0; column < columns; ++column) append_cell(text, cells[column]);
    trim_right(text);
    auto& lines = static_cast<Screen*>(screen)->scrolled_;
    lines.push_back(std::move(text));
    if (lines.size() > max_scrolled) lines.pop_front();
    return 1;
  }
  static int set_property(VTermProp property, VTermValue* value, void* screen) {
    if (property == VTERM_PROP_ALTSCREEN) static_cast<Screen*>(screen)->is_full_screen_ = value->boolean != 0;
    return 1;
  }
  static const VTermScreenCallbacks* get() {
    static const VTermScreenCallbacks callbacks = [] {
      VTermScreenCallbacks made{};
      made.settermprop = set_property;
      made.sb_pushline = push_line;
      return made;
    }();
    return &callbacks;
  }
};

void Screen::Free::operator()(VTerm* terminal) const noexcept { ::vterm_free(terminal); }

Screen::Screen(int rows, int columns)
    : rows_(std::clamp(rows, fewest, max_rows)),
      columns_(std::clamp(columns, fewest, max_columns)),
      guard_(static_cast<std::size_t>(columns_)),
      terminal_(::vterm_new(rows_, columns_)) {
  REEVE_ASSERT(terminal_ != nullptr);
  ::vterm_set_utf8(terminal_.get(), 1);
  VTermScreen* screen = ::vterm_obtain_screen(terminal_.get());
  // A program that leaves the alternate screen restores the previous contents.
  ::vterm_screen_enable_altscreen(screen, 1);
  ::vterm_screen_set_callbacks(screen, Callbacks::get(), this);
  ::vterm_screen_reset(screen, 1);
}

Screen::~Screen() = default;

void Screen::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t clear = find_clear(bytes);
    feed_part(bytes.substr(0, clear));
    if (clear == std::string_view::npos) return;
    // What was above the cleared screen is not part of what is shown next.
    if (!is_full_screen_) scrolled_.clear();
    bytes.remove_prefix(clear);
  }
}

void Screen::feed_part(std::string_view bytes) {
  // In pieces, so that the terminal's replies fit into its output buffer.
  constexpr std::size_t piece = 4'096;
  while (!bytes.empty()) {
    const std::string part = guard_.pass(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    ::vterm_input_write(terminal_.get(), part.data(), part.size());
    std::array<char, 256> answers{};
    while (::vterm_output_read(terminal_.get(), answers.data(), answers.size()) > 0) {
    }
  }
}

Screen::Position Screen::cursor() const {
  VTermPos position{};
  ::vterm_state_get_cursorpos(::vterm_obtain_state(terminal_.get()), &position);
  return {.row = std::clamp(position.row, 0, rows_ - 1), .column = std::clamp(position.col, 0, columns_ - 1)};
}

const std::deque<std::string>& Screen::scrolled() const noexcept {
  static const std::deque<std::string> none;
  return is_full_screen_ ? none : scrolled_;
}

std::string Screen::line(int row) const { return line(row, columns_); }

std::string Screen::line(int row, int columns) const {
  std::string text;
  if (row < 0 || row >= rows_) return text;
  const VTermScreen* screen = ::vterm_obtain_screen(terminal_.get());
  for (int column = 0; column < std::min(columns, columns_); ++column) {
    VTermScreenCell cell{};
    if (::vterm_screen_get_cell(screen, {.row = row, .col = column}, &cell) != 0) append_cell(text, cell);
  }
  trim_right(text);
  return text;
}

}  // namespace reeve::term
