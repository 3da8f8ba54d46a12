#include "view/wrap.h"

#include <gtest/gtest.h>

namespace reeve::view {
namespace {

TEST(Wrap, breaks_at_blanks_and_indents_further_lines) {
  EXPECT_EQ(wrap("one two three", 80), "one two three");
  EXPECT_EQ(wrap("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrap("one two three", 9, 2), "one two\n  three");
  EXPECT_EQ(wrap("one two three", 0, 2), "one two three");
  EXPECT_EQ(wrap("", 10), "");
}

TEST(Wrap, long_word_gets_a_line_of_its_own) {
  EXPECT_EQ(wrap("a https://example.org/long b", 10), "a\nhttps://example.org/long\nb");
  EXPECT_EQ(wrap("ééé ééé", 3), "ééé\nééé") << "counted in columns, not bytes";
}

TEST(Wrap, paragraphs_are_wrapped_anew) {
  EXPECT_EQ(wrap_paragraphs("one\ntwo three\n\nfour\nfive", 9), "one two\nthree\n\nfour five");
  EXPECT_EQ(wrap_paragraphs("one\ntwo", 0), "one\ntwo") << "without a limit it stays as it is";
}

}  // namespace
}  // namespace reeve::view
