#include "json/encode.h"

#include <limits>

#include <gtest/gtest.h>

#include "json/describe.h"
#include "json/parse.h"

namespace reeve::json {
namespace {

using base::Value;

TEST(JsonEncode, escapes_quotes_and_control_characters) {
  EXPECT_EQ(encode(Value::string("a\"b\\c\n\x01\x7f/é")), R"("a\"b\\c\n\u0001\u007f/é")");
}

// LOG-3: JSON is shown on terminals too.
TEST(JsonEncode, escapes_terminal_controls_and_bidi_marks) {
  EXPECT_EQ(encode(Value::string("\u009b31m \u202e \u200f")), R"("\u009b31m \u202e \u200f")");
}

// LOG-3; canonical text is hashed, not shown, and stays unchanged.
TEST(JsonEncode, escapes_invisible_characters_unless_canonical) {
  const Value value = Value::string("a\u200B\u00AD\U000E0041\U0001F600");
  EXPECT_EQ(encode(value), "\"a\\u200b\\u00ad\\udb40\\udc41\U0001F600\"");
  EXPECT_EQ(encode_canonical(value), "\"a\u200B\u00AD\U000E0041\U0001F600\"");
}

// RUN-16
TEST(JsonEncode, replaces_invalid_utf8) { EXPECT_EQ(encode(Value::string("a\xff")), "\"a\uFFFD\""); }

TEST(JsonEncode, writes_non_finite_numbers_as_null) {
  EXPECT_EQ(encode(Value::number(std::numeric_limits<double>::infinity())), "null");
  EXPECT_EQ(encode(Value::number(std::numeric_limits<double>::quiet_NaN())), "null");
}

TEST(JsonEncode, keeps_member_order_unless_canonical) {
  Value object = Value::object();
  object.set("b", Value::integer(1));
  object.set("a", Value::number(2.0));
  EXPECT_EQ(encode(object), R"({"b":1,"a":2.0})");
  EXPECT_EQ(encode_canonical(object), R"({"a":2,"b":1})");
  EXPECT_EQ(encode_pretty(object), "{\n  \"b\": 1,\n  \"a\": 2.0\n}");
}

struct Inner {
  int number = 7;
  friend bool operator==(const Inner&, const Inner&) = default;
};
BOOST_DESCRIBE_STRUCT(Inner, (), (number))

struct Outer {
  std::string name;
  std::optional<Inner> inner;
  std::vector<std::string> list;
  bool operator_ = false;
  base::RunId id{0};
  base::TimeLimit limit;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (name, inner, list, operator_, id, limit))

TEST(JsonDescribe, writes_members_by_name) {
  const Outer outer{.name = "n", .inner = Inner{}, .id = base::RunId(3)};
  EXPECT_EQ(encode(to_value(outer)),
            R"({"name":"n","inner":{"number":7},"list":[],"operator":false,"id":"TR-3","limit":"off"})");
}

TEST(JsonDescribe, omits_defaults_on_request) {
  EXPECT_EQ(encode(to_value(Outer{.name = "n"}, Defaults::omit)), R"({"name":"n"})");
  EXPECT_EQ(encode(to_value(Outer{.inner = Inner{8}}, Defaults::omit)), R"({"inner":{"number":8}})");
}

}  // namespace
}  // namespace reeve::json
