#include "spec/policy_cases.h"

#include <gmock/gmock.h>

namespace reeve::spec {
namespace {

base::Result<std::vector<LocatedPolicyCase>> parse(std::string text) {
  return parse_policy_cases(std::make_shared<const Source>("calls.yaml", std::move(text)));
}

std::string first_code(const std::string& text) {
  const auto parsed = parse(text);
  return parsed ? "valid" : parsed.error().list().front().code.text();
}

// TOOL-8: a table is checked as a whole before anything is asked.
TEST(PolicyCases, calls_are_read_with_their_lines) {
  const auto parsed = parse(
      "# what the reviewer may do\n"
      "- {tool: file_read, arguments: {path: src/a.c}, expect: auto_approve}\n"
      "- tool: shell_execute\n"
      "  agent: claude\n"
      "  role: reviewer\n"
      "  cwd: lib\n"
      "  arguments: {command: git status}\n"
      "  expect: deny\n");
  ASSERT_TRUE(parsed);
  ASSERT_EQ(parsed->size(), 2);
  EXPECT_EQ(parsed->at(0).line, 2);
  EXPECT_EQ(parsed->at(0).call.expect, model::Policy::auto_approve);
  EXPECT_EQ(parsed->at(1).line, 3);
  EXPECT_EQ(parsed->at(1).call.agent, "claude");
  EXPECT_EQ(parsed->at(1).call.role, "reviewer");
  EXPECT_EQ(parsed->at(1).call.cwd, "lib");
  EXPECT_EQ(*parsed->at(1).call.arguments->find("command")->as_string(), "git status");
}

TEST(PolicyCases, json_is_read_too) {
  const auto parsed = parse(R"([{"tool": "git_push", "expect": "deny"}])");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->front().call.tool, "git_push");
}

// A misspelt word must not turn a test into one that always passes.
TEST(PolicyCases, mistakes_are_reported) {
  EXPECT_EQ(first_code("[]"), "config.wrong_type");
  EXPECT_EQ(first_code("calls: []"), "config.wrong_type");
  EXPECT_EQ(first_code("- {tool: git_push}"), "config.missing_key");
  EXPECT_EQ(first_code("- {expect: deny}"), "config.missing_key");
  EXPECT_EQ(first_code("- {tool: git_push, expect: denied}"), "config.unknown_policy");
  EXPECT_EQ(first_code("- {tool: git_push, expect: deny, argument: {}}"), "config.unknown_key");
  EXPECT_EQ(first_code("- {tool: git_push, expect: deny, arguments: [a]}"), "config.wrong_type");
  EXPECT_EQ(first_code("- git_push"), "config.wrong_type");
}

TEST(PolicyCases, tables_are_bounded) {
  std::string text;
  for (std::size_t i = 0; i <= max_policy_cases; ++i) text += "- {tool: a, expect: deny}\n";
  EXPECT_EQ(first_code(text), "config.wrong_type");
}

}  // namespace
}  // namespace reeve::spec
