#include <gtest/gtest.h>

#include "json/parse.h"
#include "runtime/tools/tool_host.h"

namespace reeve::runtime {
namespace {

base::Value parse(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.has_value()) << text;
  return value ? *value : base::Value();
}

std::string fault_of(std::string_view tool, std::string_view arguments) {
  return find_argument_fault(tool, parse(arguments)).value_or("");
}

// TOOL-4: the hosted tools, each with an argument schema.
TEST(ToolHost, every_tool_has_a_closed_schema) {
  std::vector<std::string> names;
  for (const wire::HostedTool& tool : hosted_tools()) {
    names.push_back(tool.name);
    EXPECT_TRUE(is_hosted(tool.name));
    EXPECT_FALSE(tool.description.empty()) << tool.name;
    EXPECT_EQ(*tool.input_schema.find("type"), base::Value::string("object")) << tool.name;
    EXPECT_EQ(*tool.input_schema.find("additionalProperties"), base::Value::boolean(false)) << tool.name;
    for (const base::Member& property : *tool.input_schema.find("properties")->as_object()) {
      EXPECT_NE(property.value.find("type"), nullptr) << tool.name << "." << property.key;
      EXPECT_NE(property.value.find("description"), nullptr) << tool.name << "." << property.key;
    }
  }
  const std::vector<std::string> wanted = {"file_read", "list_directory", "search_files", "git_diff",
                                           "git_log",   "git_blame",      "file_write",   "shell_execute",
                                           "git_add",   "git_commit",     "git_push"};
  EXPECT_EQ(names, wanted);
  EXPECT_FALSE(is_hosted("Read"));
}

TEST(ToolHost, arguments_that_match_the_schema_have_no_fault) {
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"file_read", R"({"path": "a", "offset": 1, "limit": 10})"},
      {"list_directory", "{}"},
      {"search_files", R"({"pattern": "x", "path": "src", "glob": "*.h", "max_results": 5})"},
      {"git_diff", R"({"paths": ["a", "b"], "staged": true, "against": "HEAD~1"})"},
      {"git_log", R"({"path": "a", "limit": 3})"},
      {"git_blame", R"({"path": "a", "from": 2, "to": 2})"},
      {"file_write", R"({"path": "a", "content": "", "create_folders": false})"},
      {"shell_execute", R"({"command": "ls | wc", "timeout_seconds": 5})"},
      {"shell_execute", R"({"argv": ["ls", ""]})"},
      {"git_add", R"({"paths": ["."]})"},
      {"git_commit", R"({"message": "x"})"},
      {"git_push", R"({"remote": "origin", "branch": "main"})"}};
  for (const auto& [tool, arguments] : calls) EXPECT_EQ(fault_of(tool, arguments), "") << tool << arguments;
}

// TOOL-4: strict checks; what does not match is not guessed.
TEST(ToolHost, arguments_that_do_not_match_are_faults) {
  EXPECT_EQ(fault_of("file_read", "{}"), "file_read: 'path' is missing");
  EXPECT_EQ(fault_of("file_read", R"({"path": 5})"), "file_read: 'path' must be a string, not a whole number");
  EXPECT_EQ(fault_of("file_read", R"({"path": ""})"), "file_read: 'path' is empty");
  EXPECT_EQ(fault_of("file_read", R"({"path": "a\u0000b"})"), "file_read: 'path' contains a NUL character");
  EXPECT_EQ(fault_of("file_read", R"({"path": "a", "mode": 1})"), "file_read: 'mode' is not an argument");
  EXPECT_EQ(fault_of("file_read", R"({"path": "a", "limit": 0})"),
            "file_read: 'limit' must be between 1 and 1000000000");
  EXPECT_EQ(fault_of("file_read", R"({"path": "a", "limit": 1.5})"),
            "file_read: 'limit' must be a whole number, not a number");
  EXPECT_EQ(fault_of("file_read", "[]"), "file_read: the arguments must be an object, not a list");
  EXPECT_EQ(fault_of("file_read", R"({"path": ")" + std::string(5000, 'x') + R"("})"),
            "file_read: 'path' is longer than 4096 bytes");
  EXPECT_EQ(fault_of("git_add", R"({"paths": []})"), "git_add: 'paths' is an empty list");
  EXPECT_EQ(fault_of("git_add", R"({"paths": ["a", 1]})"),
            "git_add: 'paths' has an item that must be a string, not a whole number");
  EXPECT_EQ(fault_of("git_diff", R"({"staged": "yes"})"), "git_diff: 'staged' must be true or false, not a string");
  EXPECT_EQ(fault_of("git_blame", R"({"path": "a", "from": 3, "to": 2})"), "git_blame: 'to' is less than 'from'");
  EXPECT_EQ(fault_of("shell_execute", "{}"), "shell_execute: 'command' or 'argv' is missing");
  EXPECT_EQ(fault_of("shell_execute", R"({"command": "a", "argv": ["b"]})"),
            "shell_execute: 'command' and 'argv' exclude each other");
  EXPECT_EQ(fault_of("shell_execute", R"({"command": "-i"})"), "shell_execute: 'command' begins with '-'");
  EXPECT_EQ(fault_of("shell_execute", R"({"argv": [""]})"), "shell_execute: 'argv' names no program");
  EXPECT_EQ(fault_of("Bash\x1b[2J", "{}"), R"(Bash\x1b[2J: is not a tool of Reeve)");
  base::Value twice = parse(R"({"path": "a"})");
  twice.as_object()->push_back({"path", base::Value::string("b")});
  EXPECT_EQ(find_argument_fault("file_read", twice), "file_read: 'path' is given twice");
}

TEST(ToolHost, a_shell_call_is_an_argument_vector) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(find_shell_argv(parse(R"({"argv": ["ls", "-l"]})")), (Words{"ls", "-l"}));
  EXPECT_EQ(find_shell_argv(parse(R"({"command": "ls | wc"})")), (Words{"/bin/sh", "-c", "ls | wc"}));
  EXPECT_EQ(find_shell_argv(parse("{}")), std::nullopt);
  EXPECT_EQ(find_shell_argv(parse(R"({"argv": ["ls", 5]})")), std::nullopt);
}

}  // namespace
}  // namespace reeve::runtime
