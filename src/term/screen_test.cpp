#include "term/screen.h"

#include <gtest/gtest.h>

namespace reeve::term {
namespace {

using Position = Screen::Position;

TEST(Screen, shows_printed_text) {
  Screen screen(4, 20);
  screen.feed("one\r\ntwo\rT\r\n\x1b[31mred\x1b[0m äß 日本 ❯");
  EXPECT_EQ(screen.line(0), "one");
  EXPECT_EQ(screen.line(1), "Two");
  EXPECT_EQ(screen.line(2), "red äß 日本 ❯");
  EXPECT_EQ(screen.line(2, 3), "red");
  EXPECT_EQ(screen.line(3), "");
  EXPECT_EQ(screen.cursor(), (Position{.row = 2, .column = 13}));
  EXPECT_EQ(screen.line(-1), "");
  EXPECT_EQ(screen.line(4), "");
}

TEST(Screen, keeps_only_visible_lines) {
  Screen screen(3, 10);
  for (int i = 0; i < 1'000; ++i) screen.feed("line " + std::to_string(i) + "\r\n");
  EXPECT_EQ(screen.line(0), "line 998");
  EXPECT_EQ(screen.line(1), "line 999");
}

// RUN-10: what a person has just read belongs to a question, however small the terminal is.
TEST(Screen, keeps_the_last_lines_that_scrolled_off) {
  Screen screen(3, 10);
  screen.feed("one\r\n\x1b[31mtwo\x1b[0m  \r\nthree\r\nfour");
  EXPECT_EQ(screen.scrolled(), std::deque<std::string>({"one"}));
  screen.feed("\r\nfive");
  EXPECT_EQ(screen.scrolled(), std::deque<std::string>({"one", "two"}));
  for (int i = 0; i < 1'000; ++i) screen.feed("\r\nline " + std::to_string(i));
  ASSERT_EQ(screen.scrolled().size(), Screen::max_scrolled);
  EXPECT_EQ(screen.scrolled().back(), "line 996");
}

TEST(Screen, forgets_scrolled_lines_when_it_is_cleared) {
  for (const char* clear : {"\x1b[H\x1b[2J", "\x1b[3J",
                            "\x1b"
                            "c"}) {
    Screen screen(3, 10);
    screen.feed("1\r\n2\r\n3\r\n4\r\n5" + std::string(clear) + "6");
    EXPECT_TRUE(screen.scrolled().empty()) << clear;
    screen.feed("\r\n\r\n\r\n\r\n7");
    EXPECT_NE(screen.scrolled().front(), "1") << clear;
  }
}

TEST(Screen, full_screen_program_has_no_scrolled_lines) {
  Screen screen(3, 10);
  screen.feed("1\r\n2\r\n3\r\n4\x1b[?1049h\x1b[2J\x1b[Ha\r\nb\r\nc\r\nd");
  EXPECT_TRUE(screen.scrolled().empty());
  screen.feed("\x1b[?1049l");
  EXPECT_EQ(screen.scrolled(), std::deque<std::string>({"1"}));
}

TEST(Screen, restores_the_screen_after_a_full_screen_program) {
  Screen screen(3, 10);
  screen.feed("before\x1b[?1049h\x1b[Hinside");
  EXPECT_EQ(screen.line(0), "inside");
  screen.feed("\x1b[?1049l");
  EXPECT_EQ(screen.line(0), "before");
}

// RUN-10: the text is shown elsewhere.
TEST(Screen, lines_contain_no_control_characters) {
  Screen screen(3, 40);
  screen.feed("a\x07\x1b]0;title\x07 b\xc2\x9b c\xe2\x80\xae d\x1b[5n\x1bPx\x1b\\ e\x7f");
  for (int row = 0; row < screen.rows(); ++row) {
    const std::string line = screen.line(row);
    EXPECT_EQ(line.find_first_of("\x07\x1b\x7f"), std::string::npos);
    EXPECT_EQ(line.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(line.find("\xe2\x80\xae"), std::string::npos) << "reverses the direction of text";
  }
}

// RUN-10, LOG-3: characters that are invisible on the screen are not passed on.
TEST(Screen, lines_contain_no_invisible_characters) {
  Screen screen(3, 40);
  screen.feed("a\u200B b\u2060 c\u00AD d\uFEFF e\U000E0041 f");
  const std::string line = screen.line(0);
  for (const char* hidden : {"\u200B", "\u2060", "\u00AD", "\uFEFF", "\U000E0041"}) {
    EXPECT_EQ(line.find(hidden), std::string::npos) << line;
  }
  EXPECT_EQ(line.front(), 'a');
  EXPECT_EQ(line.back(), 'f');
}

// libvterm itself would loop forever on these.
TEST(Screen, repeat_sequences_are_bounded) {
  Screen screen(3, 10);
  screen.feed("\x1b[5b\x1b[2147483647b");
  EXPECT_EQ(screen.line(0), "");
  screen.feed("─\x1b[3b|\r\n\xe2\x80\x8b\x1b[9999999999b\r\nx\x1b[99999b");
  EXPECT_EQ(screen.line(1), "xxxxxxxxxx");
  Screen another(3, 10);
  another.feed("─\x1b[3b|");
  EXPECT_EQ(another.line(0), "────|");
}

TEST(Screen, is_bounded) {
  const Screen huge(1'000'000, 1'000'000);
  EXPECT_EQ(huge.rows(), Screen::max_rows);
  EXPECT_EQ(huge.columns(), Screen::max_columns);
  Screen tiny(0, -5);
  tiny.feed("some text\r\nthat does not fit\x1b[99;99H\x1b[1000A\x1b[1000Dx");
  EXPECT_EQ(tiny.rows(), 2);
  EXPECT_EQ(tiny.line(0).substr(0, 1), "x");
}

}  // namespace
}  // namespace reeve::term
