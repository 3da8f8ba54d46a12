#include "model/workflow_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::model {
namespace {

using base::Value;
using ::testing::HasSubstr;

WorkflowInput make(std::string name, InputType type) {
  WorkflowInput input;
  input.name = std::move(name);
  input.type = type;
  return input;
}

Value object(std::initializer_list<std::pair<const char*, Value>> members) {
  Value value = Value::object();
  for (const auto& [key, member] : members) value.set(key, member);
  return value;
}

// GRF-8: text from `--input` becomes the declared type; everything else keeps its own.
TEST(WorkflowInput, text_that_spells_a_value_becomes_it) {
  EXPECT_EQ(read_input(make("n", InputType::integer), Value::string("-3")), Value::integer(-3));
  EXPECT_EQ(read_input(make("n", InputType::number), Value::string("0.5")), Value::number(0.5));
  EXPECT_EQ(read_input(make("n", InputType::number), Value::string("2")), Value::integer(2));
  EXPECT_EQ(read_input(make("n", InputType::boolean), Value::string("false")), Value::boolean(false));
  EXPECT_EQ(read_input(make("n", InputType::string), Value::string("3")), Value::string("3"));
}

TEST(WorkflowInput, other_values_are_refused) {
  EXPECT_EQ(read_input(make("n", InputType::integer), Value::string("many")).error(),
            "must be a whole number, not `many`");
  for (const char* text : {"", " 3", "3 ", "3.0", "0x10", "9223372036854775808", "+3"}) {
    EXPECT_FALSE(read_input(make("n", InputType::integer), Value::string(text))) << text;
  }
  for (const char* text : {"nan", "inf", "-inf", "1e999", "1,5"}) {
    EXPECT_FALSE(read_input(make("n", InputType::number), Value::string(text))) << text;
  }
  EXPECT_FALSE(read_input(make("n", InputType::boolean), Value::string("yes")));
  EXPECT_FALSE(read_input(make("n", InputType::boolean), Value::integer(1)));
  EXPECT_FALSE(read_input(make("n", InputType::string), Value::integer(1)));
  EXPECT_FALSE(read_input(make("n", InputType::string), Value::object()));
}

TEST(WorkflowInput, bounds_hold) {
  WorkflowInput tries = make("tries", InputType::integer);
  tries.min = 1;
  tries.max = 10;
  EXPECT_TRUE(read_input(tries, Value::integer(1)));
  EXPECT_TRUE(read_input(tries, Value::string("10")));
  EXPECT_EQ(read_input(tries, Value::string("11")).error(), "must be a whole number from 1 to 10, not `11`");
  WorkflowInput name = make("name", InputType::string);
  name.max_length = 3;
  EXPECT_TRUE(read_input(name, Value::string("äöü"))) << "counted in characters";
  EXPECT_EQ(read_input(name, Value::string("abcd")).error(),
            "must be text with a length of at most 3, not 4 characters");
  WorkflowInput mode = make("mode", InputType::choice);
  mode.options = {"fast", "thorough"};
  EXPECT_TRUE(read_input(mode, Value::string("fast")));
  EXPECT_EQ(read_input(mode, Value::string("slow")).error(), "must be one of fast, thorough, not `slow`");
}

TEST(WorkflowInputs, defaults_fill_in_and_null_counts_as_missing) {
  WorkflowInput tries = make("tries", InputType::integer);
  tries.default_ = Value::string("3");
  WorkflowInput notes = make("notes", InputType::string);
  notes.required = false;
  const auto checked = check_inputs({make("goal", InputType::string), tries, notes},
                                    object({{"goal", Value::string("x")}, {"tries", Value()}}), Undeclared::refuse);
  ASSERT_TRUE(checked);
  EXPECT_EQ(*checked, object({{"goal", Value::string("x")}, {"tries", Value::integer(3)}}));
}

TEST(WorkflowInputs, all_mistakes_are_reported_at_once) {
  const std::vector<WorkflowInput> declared = {make("goal", InputType::string), make("tries", InputType::integer)};
  const auto checked =
      check_inputs(declared, object({{"gaol", Value::string("x")}, {"tries", Value::string("x")}}), Undeclared::refuse);
  ASSERT_FALSE(checked);
  ASSERT_EQ(checked.error().size(), 3);
  EXPECT_EQ(checked.error()[0].kind, InputMistake::Kind::missing);
  EXPECT_EQ(checked.error()[1].kind, InputMistake::Kind::bad_value);
  EXPECT_EQ(checked.error()[2].kind, InputMistake::Kind::unknown);
  EXPECT_EQ(checked.error()[2].hint, "did you mean `goal`?");
}

TEST(WorkflowInputs, undeclared_values_of_a_subgraph_are_dropped) {
  const auto checked =
      check_inputs({make("goal", InputType::string)},
                   object({{"goal", Value::string("x")}, {"other.text", Value::string("y")}}), Undeclared::drop);
  ASSERT_TRUE(checked);
  EXPECT_EQ(*checked, object({{"goal", Value::string("x")}}));
}

}  // namespace
}  // namespace reeve::model
