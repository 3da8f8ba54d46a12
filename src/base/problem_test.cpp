#include "base/problem.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/hash.h"

namespace reeve::base {
namespace {

Problem problem_at(std::size_t line, Severity severity = Severity::error) {
  return {.severity = severity,
          .code = AnyErrorCode::received("x.y"),
          .message = "m",
          .place = Place{.file = "f", .line = line, .column = 1}};
}

TEST(Problems, are_bounded_and_counted) {
  Problems problems;
  for (std::size_t i = 0; i < 1'000'000; ++i) problems.add(problem_at(i));
  problems.add(problem_at(1, Severity::warning));
  EXPECT_EQ(problems.list().size(), limits::problems_kept);
  EXPECT_EQ(problems.errors(), 1'000'000);
  EXPECT_EQ(problems.warnings(), 1);
  EXPECT_EQ(problems.dropped(), 1'000'001 - limits::problems_kept);
}

TEST(Problems, are_sorted_by_line) {
  Problems problems;
  problems.add(problem_at(7));
  problems.add(problem_at(3));
  problems.sort();
  EXPECT_EQ(problems.list()[0].place->line, 3);
}

TEST(Problems, appended_lists_stay_bounded) {
  Problems first;
  Problems second;
  for (std::size_t i = 0; i < 80; ++i) {
    first.add(problem_at(i));
    second.add(problem_at(i));
  }
  first.append(second);
  EXPECT_EQ(first.list().size(), limits::problems_kept);
  EXPECT_EQ(first.errors(), 160);
}

TEST(Error, carries_code_message_and_fix) {
  Error error(ErrorCode::file_not_found, "no such file", "look elsewhere");
  error.within("cannot read `x`");
  EXPECT_EQ(error.code(), "file.not_found");
  EXPECT_STREQ(error.what(), "cannot read `x`: no such file");
  EXPECT_EQ(error.fix(), "look elsewhere");
}

TEST(ErrorDeathTest, failed_assertion_aborts_in_release_too) {
  EXPECT_DEATH(REEVE_ASSERT(1 == 2), "1 == 2 does not hold");
}

TEST(Hash, matches_sha256_vectors) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// RFC 4231, cases 2 and 6.
TEST(Hash, matches_hmac_sha256_vectors) {
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace reeve::base
