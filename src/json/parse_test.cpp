#include "json/parse.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/encode.h"

namespace reeve::json {
namespace {

using base::Value;

std::string error_of(std::string_view text, const ParseLimits& limits = {}) {
  const auto parsed = parse(text, limits);
  return parsed ? "" : parsed.error().text();
}

TEST(JsonParse, reads_every_kind_of_value) {
  const auto parsed = parse(R"({"a": [1, -2.5, true, false, null, "é\n"], "b": {}})");
  ASSERT_TRUE(parsed);
  const Value::Array& list = *parsed->find("a")->as_array();
  EXPECT_EQ(*list[0].as_integer(), 1);
  EXPECT_EQ(*list[1].as_number(), -2.5);
  EXPECT_TRUE(*list[2].as_bool());
  EXPECT_TRUE(list[4].is_null());
  EXPECT_EQ(*list[5].as_string(), "é\n");
  EXPECT_TRUE(parsed->find("b")->as_object()->empty());
}

TEST(JsonParse, keeps_integers_exact) {
  EXPECT_EQ(*parse("9223372036854775807")->as_integer(), INT64_MAX);
  EXPECT_EQ(*parse("-9223372036854775808")->as_integer(), INT64_MIN);
  EXPECT_NE(parse("9223372036854775808")->as_number(), nullptr);
}

TEST(JsonParse, reads_the_nearest_double) {
  for (const double number : {18423372036577458807.0, 9007199254740994.0, 0.0, 0.1, 1e308, 5e-324, 123456789.123456789,
                              -2.2250738585072014e-308}) {
    const std::string text = encode(Value::number(number));
    EXPECT_EQ(*parse(text)->as_number(), number) << text;
  }
}

RC_GTEST_PROP(JsonParse, round_trips_any_double, (double number)) {
  const auto parsed = parse(encode(Value::number(number)));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->as_number() != nullptr);
  RC_ASSERT(*parsed->as_number() == number);
}

TEST(JsonParse, refuses_duplicate_keys) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"a\": 2}"), "line 2, column 4: duplicate key `a`");
  std::string many = "{";
  for (int i = 0; i < 100; ++i) many += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_NE(error_of(many + "\"k50\": 1}"), "");
  EXPECT_EQ(error_of(many + "\"k100\": 1}"), "");
  EXPECT_EQ(error_of(R"({"a": {"a": 1}, "b": {"a": 1}})"), "") << "the same key in another object is not a duplicate";
  EXPECT_NE(error_of(R"({"a": 1, "\u0061": 2})"), "") << "escapes do not hide a duplicate";
}

TEST(JsonParse, refuses_depth_over_64) {
  EXPECT_EQ(error_of(std::string(64, '[') + std::string(64, ']')), "");
  EXPECT_NE(error_of(std::string(65, '[') + std::string(65, ']')), "");
  EXPECT_NE(error_of(std::string(1'000'000, '[')), "");
}

TEST(JsonParse, rejects_oversized_input) {
  EXPECT_NE(error_of("[1,2,3]", {.bytes = 6}), "");
  EXPECT_NE(error_of("[1,2,3,4]", {.values = 4}), "");
  EXPECT_EQ(error_of("[1,2,3]", {.values = 4}), "");
}

TEST(JsonParse, rejects_invalid_json) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\"}", "{a: 1}", "'a'", "01", "1 2", "nul", "\"\x01\"", "\"\xff\"",
                           "[1] x", "// c\n1", "NaN", "\"\\ud800\""}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

rc::Gen<Value> any_value(int depth) {
  const auto text = rc::gen::map(rc::gen::string<std::string>(), [](std::string s) {
    std::erase_if(s, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    return s;
  });
  auto leaf = rc::gen::oneOf(rc::gen::just(Value()), rc::gen::map(rc::gen::arbitrary<bool>(), &Value::boolean),
                             rc::gen::map(rc::gen::arbitrary<std::int64_t>(), &Value::integer),
                             rc::gen::map(text, [](const std::string& s) { return Value::string(s); }));
  if (depth == 0) return leaf;
  auto list = rc::gen::map(rc::gen::container<std::vector<Value>>(any_value(depth - 1)),
                           [](std::vector<Value> items) { return Value::array(std::move(items)); });
  auto object = rc::gen::map(rc::gen::container<std::map<std::string, Value>>(text, any_value(depth - 1)),
                             [](const std::map<std::string, Value>& members) {
                               Value value = Value::object();
                               for (const auto& [key, member] : members) value.set(key, member);
                               return value;
                             });
  return rc::gen::oneOf(leaf, list, object);
}

RC_GTEST_PROP(JsonParse, round_trips_any_value, ()) {
  const Value value = *rc::gen::resize(10, any_value(3));
  RC_ASSERT(parse(encode(value)).value() == value);
  RC_ASSERT(parse(encode_pretty(value)).value() == value);
}

}  // namespace
}  // namespace reeve::json
