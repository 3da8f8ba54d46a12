#include "agents/hook_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/json_text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "tests/support/files.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::HasSubstr;

constexpr auto all_dialects = {HookDialect::claude, HookDialect::codex, HookDialect::gemini, HookDialect::qwen};
const std::string program = "/usr/bin/reeve";

// A file as people have it, with its own style and unusual spellings.
const std::string settled =
    "{\n\t\"model\" : \"opus\",\n\t\"b\":1.50, \"a\": [ 1,2 ],\n"
    "\t\"hooks\": {\n\t\t\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": "
    "\"say \\u0064one }]\"}]}]\n\t}\n}\n\n";

TEST(HookSettings, new_file_of_each_agent) {
  for (const HookDialect dialect : all_dialects) {
    const auto text = add_hook(dialect, "", {program});
    ASSERT_TRUE(text.has_value());
    testing::expect_golden(
        testing::source_folder() / "tests/golden/agents" / (std::string(base::spell(dialect)) + "-settings.txt"),
        *text);
  }
}

TEST(HookSettings, every_other_byte_stays) {
  for (const HookDialect dialect : all_dialects) {
    for (const std::string& before :
         {settled, std::string("{\"a\":1}"), std::string("{\"hooks\":{}, \"z\":0}\r\n"),
          std::string("{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\"hooks\": []}\n    "
                      "],\n    \"BeforeTool\": []\n  }\n}\n")}) {
      const auto added = add_hook(dialect, before, {program});
      ASSERT_TRUE(added.has_value()) << added.error();
      EXPECT_NE(*added, before);
      // Idempotent.
      EXPECT_EQ(*add_hook(dialect, *added, {program}), *added);
      // What was there is still there, in its order: only text was inserted.
      std::size_t at = 0;
      for (const char c : *added) at += at < before.size() && before[at] == c ? 1 : 0;
      EXPECT_EQ(at, before.size()) << *added;
    }
    const auto removed = remove_hook(dialect, *add_hook(dialect, settled, {program}));
    EXPECT_EQ(*removed, settled);
    EXPECT_EQ(*remove_hook(dialect, *add_hook(dialect, "{\"a\":1}", {program})), "{\"a\":1}");
  }
}

TEST(HookSettings, an_older_entry_is_replaced) {
  const std::string old = *add_hook(HookDialect::claude, settled, {"/opt/old/reeve"});
  const std::string fresh = *add_hook(HookDialect::claude, old, {program});
  EXPECT_EQ(fresh, *add_hook(HookDialect::claude, settled, {program}));
  EXPECT_THAT(fresh, ::testing::Not(HasSubstr("/opt/old")));
}

TEST(HookSettings, uninstalling_removes_only_reeves_entry) {
  const std::string before =
      R"({"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"lint"},{"command":"'/a b/reeve' hook claude"}]},)"
      R"({"hooks":[{"command":"reeve hook codex"},{"command":"echo reeve hook claude"}]}]}})";
  EXPECT_EQ(*remove_hook(HookDialect::claude, before),
            R"({"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"command":"lint"}]},)"
            R"({"hooks":[{"command":"reeve hook codex"},{"command":"echo reeve hook claude"}]}]}})");
}

// TOOL-5: a person who wants the agent to work only inside Reeve does not lose that by installing again.
TEST(HookSettings, required_entry_stays_required) {
  for (const HookDialect dialect : all_dialects) {
    const std::string required = *add_hook(dialect, settled, {.program = program, .is_required = true});
    EXPECT_THAT(required, HasSubstr(" --require --give-up 86390\""));
    EXPECT_EQ(*add_hook(dialect, required, {program}), required);
    EXPECT_THAT(*add_hook(dialect, required, {"/opt/new/reeve"}), HasSubstr("/opt/new/reeve hook"));
    EXPECT_THAT(*add_hook(dialect, required, {"/opt/new/reeve"}), HasSubstr(" --require "));
    EXPECT_EQ(*remove_hook(dialect, required), settled);
  }
  // As an earlier version wrote it, and with the option by hand.
  const std::string old =
      R"({"hooks":{"PreToolUse":[{"hooks":[{"command":"/usr/bin/reeve hook claude --give-up 3590 --require"}]}]}})";
  EXPECT_THAT(*add_hook(HookDialect::claude, old, {program}), HasSubstr("hook claude --require --give-up 86390"));
}

// The commands of people that contain Reeve's are theirs.
TEST(HookSettings, commands_with_anything_else_are_not_reeves) {
  for (const char* command :
       {"reeve hook claude", "/x/reeve hook claude --require", "reeve  hook claude --give-up 60"}) {
    EXPECT_TRUE(is_own_command(HookDialect::claude, command)) << command;
  }
  for (const char* command : {"reeve hook claude; log", "reeve hook claude && log", "reeve hook claude --give-up",
                              "reeve hook claude --give-up x", "reeve hook claude | tee out", "reeve hook claude 2>log",
                              "reeve hook install claude"}) {
    EXPECT_FALSE(is_own_command(HookDialect::claude, command)) << command;
  }
}

TEST(HookSettings, text_that_cannot_be_edited_is_refused) {
  const auto refusal = [](std::string_view text) { return add_hook(HookDialect::claude, text, {program}).error(); };
  EXPECT_THAT(refusal("{ // mine\n}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"a\":1,}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"hooks":[]})"), HasSubstr("`hooks` is not an object"));
  EXPECT_THAT(refusal(R"({"hooks":{"PreToolUse":{}}})"), HasSubstr("`hooks.PreToolUse` is not a list"));
  EXPECT_THAT(remove_hook(HookDialect::claude, "x").error(), HasSubstr("not valid JSON"));
}

TEST(HookSettings, paths_with_blanks_are_quoted) {
  const std::string text = *add_hook(HookDialect::claude, "", {"/home/o'neill/my tools/reeve"});
  const auto settings = json::parse(text);
  ASSERT_TRUE(settings.has_value());
  const Value* groups = settings->find("hooks")->find("PreToolUse");
  const std::string command = *(*(*groups->as_array())[0].find("hooks")->as_array())[0].find("command")->as_string();
  EXPECT_THAT(command, ::testing::StartsWith("'/home/o'\\''neill/my tools/reeve' hook claude"));
  EXPECT_TRUE(is_own_command(HookDialect::claude, command));
  EXPECT_FALSE(is_own_command(HookDialect::codex, command));
  EXPECT_FALSE(is_own_command(HookDialect::claude, "myreeve hook claude"));
}

TEST(JsonText, items_are_found_whatever_they_contain) {
  const std::string text = R"( { "a\"]}" : [ {"x":"}"} , "[,]" ,-1e3, true ] ,"b":{} } )";
  const JsonSpan root = find_root(text);
  const auto members = list_items(text, root);
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0].key, "a\"]}");
  const auto elements = list_items(text, members[0].value);
  ASSERT_EQ(elements.size(), 4U);
  EXPECT_EQ(text.substr(elements[2].value.begin, 4), "-1e3");
  EXPECT_EQ(elements[3].value.end - elements[3].value.begin, 4U);
  EXPECT_TRUE(list_items(text, members[1].value).empty());
  EXPECT_EQ(remove_item(text, members[0].value, 0), R"( { "a\"]}" : [ "[,]" ,-1e3, true ] ,"b":{} } )");
}

// AGT-5: outside of a run the entry denies, and it answers before the agent stops waiting.
TEST(HookSettings, entry_of_a_run_requires_the_run) {
  EXPECT_EQ(json::encode(make_run_hooks(HookDialect::claude, "/opt/my tools/it's/reeve", 86'400)),
            R"({"PreToolUse":[{"matcher":"*","hooks":[{"type":"command",)"
            R"("command":"'/opt/my tools/it'\\''s/reeve' hook claude --require --give-up 86390","timeout":86400,)"
            R"("onFailure":"block"}]}]})");
  EXPECT_EQ(json::encode(make_run_hooks(HookDialect::qwen, program, 5)),
            R"({"PreToolUse":[{"matcher":"*","hooks":[{"name":"reeve","type":"command",)"
            R"("command":"/usr/bin/reeve hook qwen --require --give-up 1","timeout":5000}]}]})");
  EXPECT_THAT(json::encode(make_run_hooks(HookDialect::gemini, program, 60)), HasSubstr(R"({"BeforeTool":[)"));
}

}  // namespace
}  // namespace reeve::agents
