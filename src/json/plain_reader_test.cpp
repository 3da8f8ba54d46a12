#include "json/plain_reader.h"

#include <gtest/gtest.h>

#include "json/decode.h"
#include "json/encode.h"
#include "json/parse.h"
#include "model/run.h"

namespace reeve::json {
namespace {

template <class T>
std::optional<T> read_plain(std::string_view text) {
  T value{};
  PlainReader reader(text);
  return reader.read(value) && reader.is_over() ? std::optional(std::move(value)) : std::nullopt;
}

template <class T>
void expect_as_written(const T& value) {
  const std::string text = encode(to_value(value));
  EXPECT_EQ(read_plain<T>(text), value) << text;
}

TEST(PlainReader, round_trips_plain_values) {
  expect_as_written(std::vector<std::string>());
  expect_as_written(std::vector<std::string>{"", "sh", "-c", "a b ~ {[:,]}"});
  expect_as_written(std::map<std::string, std::string>{{"a", "b"}, {"", ""}});
  expect_as_written(model::Progress{});
  expect_as_written(model::Progress{.percent = 33.25, .message = "one third"});
  expect_as_written(model::Usage{.input_tokens = -1, .output_tokens = 1LL << 62U, .cost_usd = 1e-9});
  expect_as_written(std::vector<model::ToolError>{{"t", "m"}, {"u", ""}});
}

// Unusual input is left to the full parser.
TEST(PlainReader, declines_escapes_whitespace_and_malformed_input) {
  for (const char* text : {R"(["a\n"])", "[\"\xc3\xa9\"]", R"([ "a"])", R"(["a",])", R"(["a")", "", "null",
                           R"({"a":"b"})", R"(["a"]x)", "[\"\x7f\"]"}) {
    EXPECT_FALSE(read_plain<std::vector<std::string>>(text)) << text;
  }
  for (const char* text : {R"({"a":"b","a":"c"})", R"({"a":1})", R"({"a"})", R"({"a":"b",})"}) {
    EXPECT_FALSE((read_plain<std::map<std::string, std::string>>(text))) << text;
  }
  for (const char* text :
       {R"({"input_tokens":1.0})", R"({"input_tokens":1e2})", R"({"input_tokens":99999999999999999999})",
        R"({"input_tokens":01})", R"({"input_tokens":null})", R"({"input_tokens":1,"input_tokens":1})",
        R"({"later":1})", R"({"cost_usd":.5})", R"({"cost_usd":1.})", R"({"cost_usd":1.e3})", R"({"cost_usd":1e999})",
        R"({"cost_usd":+1})", R"({"cost_usd":inf})", R"({"cost_usd":--1})", R"({"cost_usd":1-1})"}) {
    EXPECT_FALSE(read_plain<model::Usage>(text)) << text;
  }
}

TEST(PlainReader, missing_member_keeps_its_default) {
  EXPECT_EQ(read_plain<model::Usage>(R"({"output_tokens":7})"), (model::Usage{.output_tokens = 7}));
  EXPECT_EQ(read_plain<model::Usage>("{}"), model::Usage());
  EXPECT_EQ(read_plain<model::Progress>(R"({"percent":5,"message":null})"), model::Progress{.percent = 5.0});
}

}  // namespace
}  // namespace reeve::json
