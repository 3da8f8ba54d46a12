#include "import/row.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "json/encode.h"

namespace reeve::import {
namespace {

using store::ForeignTable;
using store::ForeignValue;
using Kind = ForeignValue::Kind;

ForeignValue text(std::string_view bytes) { return {.kind = Kind::text, .bytes = bytes}; }
ForeignValue blob(std::string_view bytes) { return {.kind = Kind::blob, .bytes = bytes}; }
ForeignValue whole(std::int64_t number) { return {.kind = Kind::integer, .integer = number}; }
ForeignValue real(double number) { return {.kind = Kind::real, .real = number}; }

std::string time_of(const ForeignValue& value) {
  const auto time = parse_old_time(value);
  return time ? base::format_time(*time) : "";
}

// STO-2: times in any of the seeds' forms become UTC.
TEST(ImportRow, timestamps_in_any_format_become_utc) {
  for (const char* spelled :
       {"2025-12-03T10:00:00.500Z", "2025-12-03 10:00:00.500", "2025-12-03T10:00:00.500000",
        "2025-12-03T12:00:00.5+02:00", "2025-12-03 04:30:00.500 -0530", "2025-12-03t11:00:00.500+01",
        " 2025-12-03T10:00:00.500z ", "1764756000.5", "1764756000500"}) {
    EXPECT_EQ(time_of(text(spelled)), "2025-12-03T10:00:00.500Z") << spelled;
  }
  EXPECT_EQ(time_of(text("2025-12-03")), "2025-12-03T00:00:00.000Z");
  EXPECT_EQ(time_of(text("2025-12-03 10:00")), "2025-12-03T10:00:00.000Z");
  EXPECT_EQ(time_of(blob("2025-12-03 10:00:00")), "2025-12-03T10:00:00.000Z");
  EXPECT_EQ(time_of(whole(1'764'756'000)), "2025-12-03T10:00:00.000Z");
  EXPECT_EQ(time_of(whole(1'764'756'000'250)), "2025-12-03T10:00:00.250Z");
  EXPECT_EQ(time_of(real(1'764'756'000.25)), "2025-12-03T10:00:00.250Z");
  EXPECT_EQ(time_of(whole(0)), "1970-01-01T00:00:00.000Z");
}

TEST(ImportRow, invalid_timestamps_are_empty) {
  for (const char* spelled :
       {"", "yesterday", "2025-13-03T10:00:00Z", "2025-12-03T10:00:00+99:00", "2025-12-03T25:00:00", "-5", "1e300",
        "nan", "inf", "1969-12-31T23:59:59Z", "2025-12-03T10:00:00+02:00+02:00", "1970-01-01T00:30:00+01:00"}) {
    EXPECT_EQ(time_of(text(spelled)), "") << spelled;
  }
  EXPECT_EQ(time_of({}), "");
  EXPECT_EQ(time_of(whole(-1)), "");
  EXPECT_EQ(time_of(whole(std::numeric_limits<std::int64_t>::max())), "");
  EXPECT_EQ(time_of(real(std::nan(""))), "");
  EXPECT_EQ(time_of(text(std::string(100'000, '1'))), "");
}

class FakeRow final : public store::ForeignRow {
 public:
  explicit FakeRow(std::vector<ForeignValue> values) : values_(std::move(values)) {
    for (std::size_t i = 0; i < values_.size(); ++i) table_.columns.push_back("c" + std::to_string(i));
  }
  const ForeignTable& table() const noexcept override { return table_; }
  ForeignValue value(std::size_t column) const override { return values_.at(column); }

 private:
  std::vector<ForeignValue> values_;
  ForeignTable table_{.name = "t", .columns = {}};
};

// Whatever a cell contains, the text is well-formed, bounded and without NUL.
TEST(ImportRow, texts_are_valid_utf8_and_bounded) {
  using namespace std::string_view_literals;
  const std::string longest(1'000'000, 'x');
  const FakeRow fake({text("a\0b"sv), blob("\xff\xfe"), whole(-7), real(1.5), {}, text(longest), text("  \n\t ")});
  const OldRow row(fake);
  EXPECT_EQ(row.text(0),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(row.text(1), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(row.text(2), "-7");
  EXPECT_EQ(row.text(3), "1.5");
  EXPECT_EQ(row.text(4), std::nullopt);
  EXPECT_EQ(row.text(std::nullopt), std::nullopt) << "a column that is not there";
  EXPECT_EQ(row.text(5)->size(), longest_old_text);
  EXPECT_TRUE(row.text(5)->ends_with("…"));
  EXPECT_EQ(row.id(5), std::nullopt) << "a name that is cut would be another's";
  EXPECT_EQ(row.name(6), std::nullopt);
  EXPECT_EQ(row.integer(2), -7);
  EXPECT_EQ(row.integer(0), std::nullopt);
}

TEST(ImportRow, valid_json_is_parsed_and_other_text_is_wrapped) {
  const std::string deep(10'000, '[');
  const std::string large(longest_old_json + 1, ' ');
  const FakeRow fake(
      {text(R"({"a":1})"), text("[1,2]"), text("plain"), blob(R"({"b":2})"), text(deep), text(large), {}});
  const OldRow row(fake);
  EXPECT_EQ(json::encode(*row.object(0)), R"({"a":1})");
  EXPECT_EQ(json::encode(*row.object(1)), R"({"value":[1,2]})");
  EXPECT_EQ(json::encode(*row.object(2)), R"({"value":"plain"})");
  EXPECT_EQ(json::encode(*row.object(3)), R"({"b":2})");
  EXPECT_EQ(*row.json(4)->as_string(), deep);
  EXPECT_FALSE(row.json(5));
  EXPECT_FALSE(row.object(6));
}

TEST(ImportRow, columns_match_in_any_case_and_unused_ones_are_listed) {
  const ForeignTable table{.name = "t", .columns = {"ID", "extra", "Status"}};
  Columns columns(table);
  EXPECT_EQ(columns.pick({"run_id", "id"}), 0U);
  EXPECT_EQ(columns.pick({"status"}), 2U);
  EXPECT_EQ(columns.pick({"none"}), std::nullopt);
  EXPECT_EQ(columns.unused(), std::vector<std::string>{"extra"});
}

}  // namespace
}  // namespace reeve::import
