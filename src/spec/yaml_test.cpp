#include "spec/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/limits.h"
#include "json/encode.h"

namespace reeve::spec {
namespace {

std::shared_ptr<const Source> make_source(std::string text) {
  return std::make_shared<const Source>("test.yaml", std::move(text));
}

std::string read(const std::string& text) {
  base::Problems problems;
  const auto document = parse_yaml(make_source(text), problems);
  if (!document) return problems.list().front().code.text();
  EXPECT_TRUE(problems.empty());
  return json::encode(to_value(document->root));
}

TEST(Yaml, parses_scalars_lists_and_maps) {
  EXPECT_EQ(read("a: 1\nb: [x, 2.5, true, ~, 'no']\nc: {d: e}\n"),
            R"({"a":1,"b":["x",2.5,true,null,"no"],"c":{"d":"e"}})");
}

TEST(Yaml, follows_the_yaml_1_2_core_schema) {
  EXPECT_EQ(read("[yes, no, on, off, y, True, FALSE, null, Null, '', ~]"),
            R"(["yes","no","on","off","y",true,false,null,null,"",null])");
  EXPECT_EQ(read("[12, -3, +4, 0x1F, 0o17, 017, 1e3, -.5, 1_000, 1.0.0, 9223372036854775808, nan, inf, '7']"),
            R"([12,-3,4,31,15,17,1000.0,-0.5,"1_000","1.0.0",9.223372036854776e+18,"nan","inf","7"])");
  EXPECT_EQ(read("[!!str 12, !!str true]"), R"(["12","true"])");
}

TEST(Yaml, nodes_know_their_line_and_column) {
  base::Problems problems;
  const auto document = parse_yaml(make_source("first: 1\nsecond:\n  - é: \"text\"\n"), problems);
  ASSERT_TRUE(document);
  const YamlNode* list = document->root.find("second");
  ASSERT_NE(list, nullptr);
  const YamlNode& text = *list->at(0)->find("é");
  EXPECT_EQ(text.place().line, 3);
  EXPECT_EQ(text.place().column, 8);
  EXPECT_EQ(text.place().length, 6) << "with its quotes";
  EXPECT_EQ(text.place().source_line, "  - é: \"text\"");
  EXPECT_EQ(document->root.find_key("second")->line, 2);
}

TEST(Yaml, expands_aliases) {
  EXPECT_EQ(read("a: &x {k: [1, 2]}\nb: *x\nc: [*x]\n"), R"({"a":{"k":[1,2]},"b":{"k":[1,2]},"c":[{"k":[1,2]}]})");
  EXPECT_EQ(read("a: &x 1\nb: &x 2\nc: *x\n"), R"({"a":1,"b":2,"c":2})");
  EXPECT_EQ(read("a: &x [*x]\n"), "yaml.unknown_alias") << "nothing contains itself";
}

// A 350-byte bomb must cost no more than its text.
TEST(Yaml, rejects_alias_bombs) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += before + ", ";
    bomb += "]\n";
  }
  EXPECT_EQ(read(bomb), "yaml.too_many_aliases");
}

TEST(Yaml, rejects_excessive_depth_even_through_aliases) {
  EXPECT_EQ(read(std::string(64, '[') + std::string(64, ']')), std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(read(std::string(65, '[') + std::string(65, ']')), "yaml.too_deep");
  EXPECT_EQ(read(std::string(100'000, '[')), "yaml.too_deep");
  std::string dashes;
  for (int i = 0; i < 100'000; ++i) dashes += "- ";
  EXPECT_EQ(read(dashes + "x\n"), "yaml.too_deep");
  std::string blocks;
  for (int i = 0; i < 200; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(read(blocks), "yaml.too_deep");
  const std::string forty = std::string(40, '[') + std::string(40, ']');
  EXPECT_EQ(read("a: &a " + forty + "\nb: " + std::string(30, '[') + "*a" + std::string(30, ']') + "\n"),
            "yaml.too_deep")
      << "neither is too deep on its own";
  // Each step adds 30 levels to the previous one.
  std::string chain = "a0: &a0 x\n";
  for (int i = 1; i < 5; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " " + std::string(30, '[') + "*a" +
             std::to_string(i - 1) + std::string(30, ']') + "\n";
  }
  EXPECT_EQ(read(chain), "yaml.too_deep");
}

TEST(Yaml, rejects_oversized_input) {
  EXPECT_EQ(read(std::string(50'000'000, ' ')), "yaml.too_large");
  EXPECT_EQ(read("a: " + std::string(base::limits::spec_text_bytes + 1, 'x')), "yaml.too_large");
}

// Input for which libfyaml 0.7.12 needs quadratic time, or which it queues completely before the first event.
TEST(Yaml, rejects_input_that_is_slow_to_parse) {
  EXPECT_EQ(read("- " + std::string(300, ' ') + "x"), "yaml.too_large");
  EXPECT_EQ(read("a: |\n" + std::string(300, '\n') + "  x\n"), "yaml.too_large");
  EXPECT_EQ(read("a: " + std::string(300'000, 'x')), "yaml.too_large");
  std::string brackets;
  for (int i = 0; i < 2'000; ++i) brackets += "[\n";
  EXPECT_EQ(read(brackets), "yaml.too_deep");
  EXPECT_EQ(read("a: 'text [ [ [ { {'\n"), "{\"a\":\"text [ [ [ { {\"}");
}

TEST(Yaml, rejects_invalid_bytes) {
  EXPECT_EQ(read("a: \xff\n"), "yaml.bad_utf8");
  EXPECT_EQ(read(std::string("a: b\0c\n", 7)), "yaml.control_character");
  EXPECT_EQ(read("a: \x1b[0m\n"), "yaml.control_character");
  EXPECT_EQ(read("a: \"\\e[0m\"\n"), "{\"a\":\"\\u001b[0m\"}") << "an escape is data";
}

// libfyaml 0.7.12 never returns from some of these.
TEST(Yaml, rejects_directives) {
  for (const char* text : {"%", "%\n", "%a", "%a b", "%YAML", "%YAML 1.2\n---\na: 1\n", "%TAG ! !\n---\n", "a: 1\n%b\n",
                           "a: 1\r%b", "\xEF\xBB\xBF%a"}) {
    EXPECT_EQ(read(text), "yaml.directive") << text;
  }
  EXPECT_EQ(read("a: 5%\nb: |\n  %text\n"), "{\"a\":\"5%\",\"b\":\"%text\\n\"}");
}

TEST(Yaml, reports_every_duplicate_key) {
  base::Problems problems;
  EXPECT_FALSE(parse_yaml(make_source("a: 1\na: 2\nb: {c: 1, c: 2}\n"), problems));
  EXPECT_EQ(problems.errors(), 2);
  std::string many;
  for (int i = 0; i < 1'000; ++i) many += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(read(many + "k500: 2\n"), "yaml.duplicate_key");
}

RC_GTEST_PROP(Yaml, never_crashes_on_any_text, (const std::string& text)) {
  base::Problems problems;
  const bool is_read = parse_yaml(make_source(text), problems).has_value();
  RC_ASSERT(is_read != problems.has_errors());
}

RC_GTEST_PROP(Yaml, never_crashes_on_yaml_syntax_characters, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab:-?,[]{}#&*!|>'\"%@` \n\t")));
  base::Problems problems;
  const bool is_read = parse_yaml(make_source(text), problems).has_value();
  RC_ASSERT(is_read != problems.has_errors());
}

}  // namespace
}  // namespace reeve::spec
