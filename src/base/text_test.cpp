#include "base/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::base {
namespace {

TEST(Text, splits_and_joins) {
  EXPECT_EQ(split("a,b,,c", ','), (std::vector<std::string_view>{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), std::vector<std::string_view>{""});
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \t a b \n"), "a b");
}

TEST(Text, finds_the_first_invalid_utf8_byte) {
  EXPECT_FALSE(find_invalid_utf8("plain, é, 日本, 😀"));
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2);
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0) << "overlong";
  EXPECT_EQ(find_invalid_utf8("x\xed\xa0\x80"), 1) << "surrogate";
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0) << "beyond U+10FFFF";
  EXPECT_EQ(find_invalid_utf8("é\xe6\x97"), 2) << "cut off";
}

// RUN-16
TEST(Text, replaces_each_invalid_sequence_once) {
  EXPECT_EQ(replace_invalid_utf8("a\xff\xfe"), "a\uFFFD\uFFFD");
  EXPECT_EQ(replace_invalid_utf8("\xe6\x97!"), "\uFFFD!");
  EXPECT_EQ(replace_invalid_utf8("ok é"), "ok é");
}

RC_GTEST_PROP(Text, replaced_text_is_always_utf8, (const std::string& bytes)) {
  const std::string text = replace_invalid_utf8(bytes);
  RC_ASSERT(!find_invalid_utf8(text));
  if (!find_invalid_utf8(bytes)) RC_ASSERT(text == bytes);
}

TEST(Text, is_cut_between_characters_only) {
  EXPECT_EQ(truncate_utf8("aé", 2), "a");
  EXPECT_EQ(truncate_utf8("aé", 3), "aé");
  EXPECT_EQ(truncate_utf8("😀", 3), "");
}

TEST(Text, measures_terminal_width) {
  EXPECT_EQ(display_width("abc"), 3);
  EXPECT_EQ(display_width("é"), 1);
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("日本"), 4);
  EXPECT_EQ(fit_width("abcdef", 4, false), "abc…");
  EXPECT_EQ(fit_width("abcdef", 4, true), "abc~");
  EXPECT_EQ(fit_width("日本語", 4, true), "日~");
  EXPECT_EQ(fit_width("abc", 3, false), "abc");
}

TEST(Text, line_and_column_count_characters) {
  const std::string_view text = "ab\nécd\n";
  EXPECT_EQ(position_of(text, 0).line, 1);
  EXPECT_EQ(position_of(text, 5).line, 2);
  EXPECT_EQ(position_of(text, 5).column, 2);
}

TEST(Text, edit_distance_counts_edits) {
  EXPECT_EQ(edit_distance("taks", "task"), 1) << "a swap is one mistake";
  EXPECT_EQ(edit_distance("Task", "task"), 0) << "case is ignored";
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting", 2), 3) << "one more than the limit means more";
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3);
}

RC_GTEST_PROP(Text, edit_distance_is_a_distance, (const std::string& a, const std::string& b)) {
  const std::string left = a.substr(0, 64);
  const std::string right = b.substr(0, 64);
  RC_ASSERT(edit_distance(left, right) == edit_distance(right, left));
  RC_ASSERT(edit_distance(left, left) == 0U);
  RC_ASSERT(edit_distance(left, right) <= std::max(left.size(), right.size()));
}

RC_GTEST_PROP(Text, a_bounded_edit_distance_is_the_same_up_to_its_bound, ()) {
  const auto word = rc::gen::container<std::string>(rc::gen::element('a', 'b', 'c'));
  const std::string left = *word;
  const std::string right = *word;
  const auto most = *rc::gen::inRange<std::size_t>(0, 5);
  RC_ASSERT(edit_distance(left, right, most) == std::min(edit_distance(left, right), most + 1));
}

TEST(Text, suggests_only_close_matches) {
  const std::vector<std::string> types = {"task", "gate", "branch", "merge", "parallel", "subgraph", "human"};
  EXPECT_EQ(find_closest("taks", types), "task");
  EXPECT_EQ(find_closest("paralel", types), "parallel");
  EXPECT_EQ(find_closest("Human", types), "human");
  EXPECT_FALSE(find_closest("database", types));
  EXPECT_FALSE(find_closest("x", types));
  EXPECT_FALSE(find_closest("", types));
}

// LOG-3
TEST(Text, escapes_control_sequences) {
  EXPECT_EQ(visible("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\u009b31m");
  EXPECT_EQ(visible("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(visible("\u200E\u061C"), "\\u200e\\u061c");
  EXPECT_EQ(visible("evil\xe2\x80\xae"
                    "txt"),
            "evil\\u202etxt")
      << "text that reverses its direction";
  EXPECT_EQ(visible("\xff"), "\\xff");
  EXPECT_EQ(visible("é 日"), "é 日");
}

// LOG-3: invisible characters could make a text differ from what it looks like.
TEST(Text, escapes_invisible_characters) {
  EXPECT_EQ(visible("ap\u200Bprove\u200D\u2060\uFEFF"), "ap\\u200bprove\\u200d\\u2060\\ufeff");
  EXPECT_EQ(visible("a\u00ADb\u034Fc\u115F\u1160\u3164\uFFA0\u180E"),
            "a\\u00adb\\u034fc\\u115f\\u1160\\u3164\\uffa0\\u180e");
  EXPECT_EQ(visible("\u2028\u2029\u206A\uFFF9\uFFFB"), "\\u2028\\u2029\\u206a\\ufff9\\ufffb");
  EXPECT_EQ(visible("ok\U000E0041\U000E007F\U000E0100"), "ok\\u{e0041}\\u{e007f}\\u{e0100}");
  EXPECT_EQ(visible("\u2764\uFE0F 1\uFE0F\u20E3 \u00A9\uFE0F"), "\u2764\uFE0F 1\uFE0F\u20E3 \u00A9\uFE0F") << "emoji";
  EXPECT_EQ(visible("yes\uFE0F \uFE0E\u2764\uFE0F\uFE00"), "yes\\ufe0f \\ufe0e\u2764\uFE0F\\ufe00")
      << "a selector that selects nothing";
  EXPECT_EQ(visible("Größe नमस्ते 한국어 日本 e\u0301 ✓"), "Größe नमस्ते 한국어 日本 e\u0301 ✓");
}

RC_GTEST_PROP(Text, visible_text_has_no_control_characters, (const std::string& bytes)) {
  for (const char c : visible(bytes)) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  RC_ASSERT(!find_invalid_utf8(visible(bytes)));
}

TEST(Text, quoted_text_is_bounded) {
  EXPECT_EQ(quoted("task"), "`task`");
  EXPECT_LT(base::quoted(std::string(10'000, 'x')).size(), 100);
}

}  // namespace
}  // namespace reeve::base
