#include "engine/condition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/parse.h"

namespace reeve::engine {
namespace {

using base::Value;
using model::Operator;

// "=": true, "-": false, "?": could not be compared.
std::string test(std::string_view field, std::string_view op, std::string_view value, std::string_view data) {
  const model::Condition condition{std::string(field), base::find_enum<Operator>(op).value(),
                                   json::parse(value).value()};
  const ConditionResult result = evaluate(condition, json::parse(data).value());
  EXPECT_FALSE(result.holds && !result.doubt.empty());
  return result.holds ? "=" : result.doubt.empty() ? "-" : "?";
}

// GRF-2
TEST(Condition, compares_by_each_operator) {
  constexpr std::string_view data = R"({"n": 5, "f": 2.5, "s": "passed", "b": true, "l": ["a", 1]})";
  EXPECT_EQ(test("n", "==", "5", data), "=");
  EXPECT_EQ(test("n", "==", "5.0", data), "=");
  EXPECT_EQ(test("n", "!=", "4", data), "=");
  EXPECT_EQ(test("n", ">", "4", data), "=");
  EXPECT_EQ(test("f", ">=", "2.5", data), "=");
  EXPECT_EQ(test("f", "<", "2", data), "-");
  EXPECT_EQ(test("s", "<", "\"z\"", data), "=");
  EXPECT_EQ(test("b", "==", "true", data), "=");
  EXPECT_EQ(test("b", "!=", "true", data), "-");
  EXPECT_EQ(test("s", "in", R"(["failed", "passed"])", data), "=");
  EXPECT_EQ(test("s", "not_in", R"(["failed"])", data), "=");
  EXPECT_EQ(test("n", "in", R"(["a", 5])", data), "=");
  EXPECT_EQ(test("s", "contains", "\"ass\"", data), "=");
  EXPECT_EQ(test("l", "contains", "1", data), "=");
  EXPECT_EQ(test("l", "contains", "2", data), "-");
  EXPECT_EQ(test("s", "starts_with", "\"pass\"", data), "=");
  EXPECT_EQ(test("s", "ends_with", "\"pass\"", data), "-");
  EXPECT_EQ(test("s", "in", "[]", data), "-");
  EXPECT_EQ(test("s", "not_in", "[]", data), "=");
}

// GRF-2: a missing field or types that do not compare make any condition false, `!=` too.
TEST(Condition, is_false_when_values_are_not_comparable) {
  constexpr std::string_view data = R"({"n": 5, "s": "5", "b": true, "o": {}, "z": null})";
  for (const auto& entry : base::names_of<Operator>()) {
    EXPECT_EQ(test("gone", entry.name, "1", data), "?") << entry.name;
    EXPECT_EQ(test("z", entry.name, "1", data), "?") << entry.name;
    EXPECT_EQ(test("o", entry.name, "1", data), "?") << entry.name;
  }
  EXPECT_EQ(test("s", "!=", "5", data), "?");
  EXPECT_EQ(test("n", "==", "\"5\"", data), "?");
  EXPECT_EQ(test("b", "==", "1", data), "?");
  EXPECT_EQ(test("b", "<", "true", data), "?");
  EXPECT_EQ(test("n", "not_in", R"(["a", "b"])", data), "?");
  EXPECT_EQ(test("n", "starts_with", "\"5\"", data), "?");
}

TEST(Condition, exact_names_win_over_dotted_paths) {
  constexpr std::string_view data = R"({"a.b": 1, "a": {"b": 2, "c": {"d": 3}}, "x.y": {"z": 4}})";
  EXPECT_EQ(test("a.b", "==", "1", data), "=");
  EXPECT_EQ(test("a.c.d", "==", "3", data), "=");
  EXPECT_EQ(test("x.y.z", "==", "4", data), "=");
  EXPECT_EQ(test("a.c.e", "==", "3", data), "?");
  EXPECT_EQ(test("a.b.c", "==", "3", data), "?");
  EXPECT_EQ(test("..", "==", "3", data), "?");
}

TEST(Condition, distinguishes_large_integers) {
  EXPECT_EQ(test("n", "==", "9007199254740993", R"({"n": 9007199254740992})"), "-");
  EXPECT_EQ(test("n", ">", "9007199254740992", R"({"n": 9007199254740993})"), "=");
}

RC_GTEST_PROP(Condition, operator_and_its_negation_always_differ, (std::int64_t left, std::int64_t right)) {
  Value data = Value::object();
  data.set("n", Value::integer(left));
  const auto holds = [&](Operator op) {
    const model::Condition condition{"n", op, Value::integer(right)};
    return evaluate(condition, data).holds;
  };
  RC_ASSERT(holds(Operator::equal) != holds(Operator::not_equal));
  RC_ASSERT(holds(Operator::greater) != holds(Operator::less_or_equal));
  RC_ASSERT(holds(Operator::less) != holds(Operator::greater_or_equal));
}

}  // namespace
}  // namespace reeve::engine
