#include "runtime/runs/screen_context.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

// RUN-10, LOG-4: the screen beside the question of a prompt.
namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

base::SecretSet secrets(const std::vector<std::string>& values = {"tok-1234567890"}) {
  base::SecretSet set;
  for (const std::string& value : values) set.add(value);
  set.prepare();
  return set;
}

term::ScreenQuestion screen(std::vector<std::string> lines, std::size_t prompt) {
  term::ScreenQuestion seen;
  seen.lines = std::move(lines);
  seen.prompt_line = prompt;
  return seen;
}

std::vector<std::string> numbered(int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count; ++i) lines.push_back("line " + std::to_string(i));
  return lines;
}

TEST(ScreenContext, has_the_last_forty_lines_and_the_prompt) {
  auto lines = numbered(100);
  lines.insert(lines.end(), 5, "");
  const ScreenContext last = make_screen_context(screen(lines, 99), secrets());
  EXPECT_EQ(std::ranges::count(last.text, '\n'), 39);
  EXPECT_TRUE(last.text.starts_with("line 60\n"));
  EXPECT_TRUE(last.text.ends_with("line 99"));
  EXPECT_TRUE(last.dialog.starts_with("line 87\n")) << last.dialog;
  const ScreenContext early = make_screen_context(screen(lines, 10), secrets());
  EXPECT_TRUE(early.text.starts_with("line 10\n")) << "the prompt is in it";
  EXPECT_EQ(make_screen_context(screen({"", " ", ""}, 0), secrets()).text, "");
  EXPECT_EQ(make_screen_context({}, secrets()).text, "");
  EXPECT_EQ(make_screen_context(screen({"", "a", "", "b", ""}, 3), secrets()).text, "a\n\nb");
}

TEST(ScreenContext, size_is_bounded) {
  const std::vector<std::string> wide(60, std::string(4'000, 'x'));
  const ScreenContext context = make_screen_context(screen(wide, 59), secrets());
  EXPECT_LE(context.text.size(), 16U * 1024);
  EXPECT_GT(context.text.size(), 10U * 1024);
}

TEST(ScreenContext, secrets_are_hidden_before_lines_are_cut) {
  const std::string line = std::string(995, 'x') + "tok-1234567890 end";
  EXPECT_THAT(make_screen_context(screen({line}, 0), secrets()).text, Not(HasSubstr("tok-")));
}

// A program that draws boxes wraps a long value itself, which no reader of its output can see.
TEST(ScreenContext, secrets_wrapped_in_a_box_are_hidden) {
  const base::SecretSet set = secrets();
  EXPECT_THAT(hide_on_screen({"│ curl -H tok-12 │", "│ 34567890 https │", "│ Proceed?       │"}, set),
              ElementsAre("***", "***", "│ Proceed?       │"));
  EXPECT_THAT(hide_on_screen({"tok-1", "2345", "67890", "ok"}, set), ElementsAre("***", "***", "***", "ok"));
  EXPECT_THAT(hide_on_screen({"a tok-1234567890 b", "c"}, set), ElementsAre("a *** b", "c"));
  const std::vector<std::string> letters = {"t", "o", "k", "-", "1", "2", "3", "4", "5", "6", "7", "8", "9", "0"};
  EXPECT_THAT(hide_on_screen(letters, set), ::testing::Each("***")) << "over more lines than are searched";
  EXPECT_THAT(hide_on_screen({"tok-1234", "567890"}, secrets({})), ElementsAre("tok-1234", "567890"));
}

// The first line shown may be the end of a secret that begins above.
TEST(ScreenContext, secrets_that_begin_above_the_window_are_hidden) {
  auto lines = numbered(50);
  lines[9] = "tok-1234";
  lines[10] = "567890";
  EXPECT_THAT(make_screen_context(screen(lines, 49), secrets()).text, Not(HasSubstr("567890")));
}

}  // namespace
}  // namespace reeve::runtime
