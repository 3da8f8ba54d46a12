#include "base/error_code.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace reeve::base {
namespace {

TEST(ErrorCode, is_spelled_by_area_and_word) {
  const Error error(ErrorCode::store_unknown_outcome, "the server went away");
  EXPECT_EQ(error.code(), "store.unknown_outcome");
  EXPECT_TRUE(error.is(ErrorCode::store_unknown_outcome));
  EXPECT_FALSE(error.is(ErrorCode::store_busy));
  EXPECT_TRUE(error.is_in(ErrorArea::store));
  EXPECT_FALSE(error.is_in(ErrorArea::state));
}

// A client may be older than its daemon.
TEST(ErrorCode, unknown_code_keeps_its_text) {
  const Error error(AnyErrorCode::received("store.of_tomorrow"), "");
  EXPECT_EQ(error.code(), "store.of_tomorrow");
  EXPECT_TRUE(error.is_in(ErrorArea::store));
  EXPECT_EQ(find_row(error.code()), nullptr);
  EXPECT_TRUE(AnyErrorCode::received("store.busy") == ErrorCode::store_busy);
}

TEST(ErrorCode, rows_are_found_by_code_and_by_spelling) {
  for (const ErrorRow& row : error_rows()) {
    EXPECT_EQ(&row_of(row.code), &row) << row.spelling;
    EXPECT_EQ(find_row(row.spelling), &row) << row.spelling;
  }
}

}  // namespace
}  // namespace reeve::base
