#include "engine/tool_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/policy.h"
#include "engine/shell_call.h"
#include "json/encode.h"
#include "model/policy.h"
#include "tests/support/engine/tool_calls.h"

namespace reeve::engine {
namespace {

using testing::arguments_of;

std::string show(const NamedCall& call) {
  return fmt::format("{}{} {}", call.is_known ? "" : "unknown ", call.tool, json::encode(call.arguments));
}

std::string name(std::string_view dialect, std::string_view tool, std::string_view arguments) {
  return show(name_call(dialect, tool, arguments_of(arguments), "/wt"));
}

struct NamedCase {
  std::string_view dialect;
  std::string_view tool;
  std::string_view arguments;
  std::string_view expected;
};

// TOOL-7, with arguments as the agents send them.
TEST(ToolNames, tools_of_agents_get_names_of_reeve) {
  constexpr auto cases = std::to_array<NamedCase>({
      {"claude", "Bash", R"({"command":"ls","description":"x"})",
       R"(shell_execute {"command":"ls","description":"x"})"},
      {"claude", "Write", R"({"file_path":"/wt/y","content":"h"})", R"(file_write {"path":"/wt/y","content":"h"})"},
      {"claude", "Edit", R"({"file_path":"y","old_string":"a","new_string":"b"})",
       R"(file_write {"path":"/wt/y","old_string":"a","new_string":"b"})"},
      {"claude", "MultiEdit", R"({"file_path":"y","edits":[]})", R"(file_write {"path":"/wt/y","edits":[]})"},
      {"claude", "NotebookEdit", R"({"notebook_path":"n","new_source":"x"})",
       R"(file_write {"path":"/wt/n","new_source":"x"})"},
      {"claude", "Read", R"({"file_path":"../y","limit":3})", R"(file_read {"path":"/wt/../y","limit":3})"},
      {"claude", "Glob", R"({"pattern":"**/*.c"})",
       R"(list_directory {"pattern":"**/*.c","path":"/wt","glob":"/wt/**/*.c"})"},
      {"claude", "Grep", R"({"pattern":"a|b","path":"src"})", R"(search_files {"pattern":"a|b","path":"/wt/src"})"},
      {"claude", "WebFetch", R"({"url":"https://x","prompt":"p"})", R"(web_fetch {"url":"https://x","prompt":"p"})"},
      {"claude", "Task", R"({"prompt":"p"})", R"(agent_spawn {"prompt":"p"})"},
      {"claude", "mcp__github__create_issue", R"({"title":"t"})", R"(mcp:github/create_issue {"title":"t"})"},
      {"codex", "commandExecution", R"({"command":"/bin/bash -lc 'echo hi > x.txt'","cwd":"/wt"})",
       R"(shell_execute {"command":"echo hi > x.txt","cwd":"/wt","shell":"/bin/bash -lc"})"},
      {"codex", "shell", R"({"command":["/bin/bash","-lc","ls -l"],"workdir":"src","call_id":"c1"})",
       R"(shell_execute {"command":"ls -l","cwd":"/wt/src","shell":"/bin/bash -lc"})"},
      {"codex", "shell", R"({"command":["ls","-l"]})", R"(shell_execute {"argv":["ls","-l"]})"},
      {"codex", "exec_command", R"({"cmd":"ls"})", R"(shell_execute {"command":"ls"})"},
      {"codex", "Bash", R"({"command":"ls"})", R"(shell_execute {"command":"ls"})"},
      {"codex", "fileChange", R"({"changes":[{"path":"a","kind":{"type":"add"},"diff":"x"}]})",
       R"(file_write {"changes":[{"path":"a","kind":{"type":"add"},"diff":"x"}],"paths":["/wt/a"]})"},
      {"codex", "fileChange",
       R"({"changes":[{"path":"a","kind":{"type":"update","move_path":"/b"}},{"path":"c","kind":{"type":"delete"}}]})",
       R"(file_delete {"changes":[{"path":"a","kind":{"type":"update","move_path":"/b"}},)"
       R"({"path":"c","kind":{"type":"delete"}}],"paths":["/wt/a","/b","/wt/c"]})"},
      {"codex", "mcpToolCall", R"({"server":"s","tool":"t","arguments":{"a":1}})", R"(mcp:s/t {"a":1})"},
      {"codex", "apply_patch",
       R"({"input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Move to: b\n*** End Patch"})",
       R"(file_write {"input":"*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Move to: b\n*** End Patch",)"
       R"("paths":["/wt/a","/wt/b"]})"},
      {"gemini", "run_shell_command", R"({"command":"ls","directory":"src"})",
       R"(shell_execute {"command":"ls","cwd":"/wt/src"})"},
      {"gemini", "write_file", R"({"file_path":"a","content":"x"})", R"(file_write {"path":"/wt/a","content":"x"})"},
      {"gemini", "replace", R"({"file_path":"a"})", R"(file_write {"path":"/wt/a"})"},
      {"gemini", "list_directory", R"({"dir_path":"src"})", R"(list_directory {"path":"/wt/src"})"},
      {"gemini", "read_file", R"({"absolute_path":"/wt/a"})", R"(file_read {"path":"/wt/a"})"},
      {"gemini", "read_many_files", R"({"include":["**/*"],"paths":["a"]})",
       R"(file_read {"include":["/wt/**/*"],"paths":["/wt/a"]})"},
      {"gemini", "glob", R"({"pattern":"*.c"})", R"(list_directory {"pattern":"*.c","path":"/wt","glob":"/wt/*.c"})"},
      {"qwen", "mcp__github__list", R"({})", R"(mcp:github/list {})"},
      {"qwen", "edit", R"({"file_path":"a"})", R"(file_write {"path":"/wt/a"})"},
      {"opencode", "bash", R"({"command":"ls","workdir":"/wt"})", R"(shell_execute {"command":"ls","cwd":"/wt"})"},
      {"opencode", "write", R"({"filePath":"a","content":"x"})", R"(file_write {"path":"/wt/a","content":"x"})"},
      {"opencode", "webfetch", R"({"url":"u"})", R"(web_fetch {"url":"u"})"},
      {"acp", "execute", R"({"command":"ls","cwd":"/wt"})", R"(shell_execute {"command":"ls","cwd":"/wt"})"},
      {"acp", "edit", R"({"filepath":"/wt/y","diff":"d"})", R"(file_write {"path":"/wt/y","diff":"d"})"},
      {"acp", "read", R"({"command":"id","path":"a"})", R"(shell_execute {"command":"id","path":"/wt/a"})"},
      {"acp", "delete", R"({"path":"a"})", R"(file_delete {"path":"/wt/a"})"},
      {"", "file_read", R"({"path":"a"})", R"(file_read {"path":"/wt/a"})"},
      {"", "list_directory", "{}", R"(list_directory {"path":"/wt"})"},
      {"", "Bash", R"({"command":"ls"})", R"(shell_execute {"command":"ls"})"},
  });
  for (const NamedCase& each : cases) {
    EXPECT_EQ(name(each.dialect, each.tool, each.arguments), each.expected) << each.dialect << " " << each.tool;
  }
}

// TOOL-7: otherwise an agent's own tool would be judged by the rules of Reeve's.
TEST(ToolNames, tool_of_an_agent_never_takes_a_name_of_reeve) {
  for (const auto& [own, policy] : model::default_policies()) {
    for (const char* dialect : {"claude", "codex", "opencode", "acp"}) {
      const NamedCall call = name_call(dialect, own, arguments_of("{}"), "/wt");
      if (call.tool == "file_delete") continue;  // "delete" is a kind of ACP
      EXPECT_EQ(call.tool, fmt::format("{}:{}", dialect, own));
      EXPECT_FALSE(call.is_known);
    }
  }
  EXPECT_EQ(name("claude", "mcp:github/x", "{}"), "unknown claude:mcp:github/x {}");
  EXPECT_EQ(name("gemini", "file_read", R"({"path":"a"})"), R"(unknown gemini:file_read {"path":"a"})");
}

TEST(ToolNames, unknown_tools_keep_their_name) {
  EXPECT_EQ(name("claude", "TodoWrite", R"({"todos":[]})"), R"(unknown TodoWrite {"todos":[]})");
  EXPECT_EQ(name("claude", "bash", R"({"command":"ls"})"), R"(unknown bash {"command":"ls"})");
  EXPECT_EQ(name("", "rocket", "{}"), "unknown rocket {}");
  EXPECT_EQ(name("claude", "mcp__", "{}"), "unknown mcp__ {}");
  // Two servers could have a tool of that name.
  for (const char* ambiguous : {"mcp__a__b__c", "mcp__a___b", "mcp__a____b"}) {
    EXPECT_EQ(name("claude", ambiguous, "{}"), fmt::format("unknown {} {{}}", ambiguous));
  }
  EXPECT_EQ(name("opencode", "github_create_issue", "{}"), "unknown github_create_issue {}");
  EXPECT_EQ(name("gemini", "mcp_github_create_issue", "{}"), "unknown mcp_github_create_issue {}");
  EXPECT_EQ(name("claude", "mcp__a/b__c", "{}"), "unknown mcp__a/b__c {}");
  EXPECT_EQ(name("codex", "mcpToolCall", R"({"server":"a/b","tool":"c"})"),
            R"(unknown mcpToolCall {"server":"a/b","tool":"c"})");
  EXPECT_EQ(name("nonsense", "Bash", "{}"), "unknown Bash {}");
  EXPECT_FALSE(is_dialect("nonsense"));
  EXPECT_TRUE(is_dialect(""));
}

// A name of several dialects gets the strictest meaning.
TEST(ToolNames, ambiguous_name_is_the_strictest) {
  EXPECT_EQ(name_call("", "delete", arguments_of("{}"), "/wt").tool, "delete");
  EXPECT_EQ(model::default_policies().at("delete"), model::Policy::deny);
  EXPECT_EQ(name_call("", "list_directory", arguments_of("{}"), "/wt").tool, "list_directory");
}

// Whatever cannot be understood has no path, so that no rule approves it.
TEST(ToolNames, changes_that_are_not_understood_are_never_approved) {
  model::Policies loose;
  loose.tools["file_write"] = {{.policy = model::Policy::auto_approve}};
  const auto decide = [&](std::string_view dialect, std::string_view tool, std::string_view arguments) {
    const NamedCall call = name_call(dialect, tool, arguments_of(arguments), "/work/app");
    CallSubject subject = testing::make_call(call.tool, "{}");
    subject.arguments = call.arguments;
    return resolve_policy(loose, subject).policy;
  };
  EXPECT_EQ(decide("codex", "fileChange", R"({"changes":[{"path":"a","kind":{"type":"add"}}]})"),
            model::Policy::auto_approve);
  for (const char* arguments :
       {"{}", R"({"changes":[]})", R"({"changes":7})", R"({"changes":[{"path":"a"}]})",
        R"({"changes":[{"path":"a","kind":{"type":"chmod"}}]})", R"({"changes":[{"kind":{"type":"add"}}]})",
        R"({"changes":[{"path":"a","kind":{"type":"add"}},{"path":7,"kind":{"type":"add"}}]})",
        R"({"changes":[{"path":"a","kind":{"type":"add"}}],"paths":["b"]})",
        R"({"changes":[{"path":"../a","kind":{"type":"add"}}]})",
        R"({"changes":[{"path":"a","kind":{"type":"update","move_path":"/etc/x"}}]})"}) {
    EXPECT_EQ(decide("codex", "fileChange", arguments), model::Policy::require_approval) << arguments;
  }
  for (const char* arguments :
       {"{}", R"({"input":"nothing"})", R"({"input":7})", R"({"input":"*** Rename File: a"})",
        R"({"input":"*** Add File: a","patch":"*** Add File: b"})", R"({"input":"*** Add File: ../a"})"}) {
    EXPECT_EQ(decide("codex", "apply_patch", arguments), model::Policy::require_approval) << arguments;
  }
  for (const char* arguments : {"{}", "[]", R"({"content":"x"})", R"({"file_path":"a","path":"/etc/x"})",
                                R"({"file_path":"a","filePath":"/etc/x"})", R"({"file_path":["a","/etc/x"]})"}) {
    EXPECT_EQ(decide("claude", "Write", arguments), model::Policy::require_approval) << arguments;
  }
  EXPECT_EQ(decide("claude", "Glob", R"({"pattern":"/etc/*"})"), model::Policy::require_approval);
  EXPECT_EQ(decide("claude", "Glob", R"({"pattern":"../*"})"), model::Policy::require_approval);
  EXPECT_EQ(decide("claude", "Glob", R"({"pattern":"src/*"})"), model::Policy::auto_approve);
}

// TOOL-7: a repository may bring a server of its own that is called `reeve`, so the name proves nothing.
TEST(ToolNames, tools_of_reeves_own_server_ask_unless_a_rule_names_them) {
  for (const char* tool : {"ask_person", "report_progress", "read_context", "approve", "file_write"}) {
    const NamedCall call = name_call("claude", fmt::format("mcp__reeve__{}", tool), arguments_of("{}"), "/work/app");
    EXPECT_EQ(call.tool, fmt::format("mcp:reeve/{}", tool));
    CallSubject subject = testing::make_call(call.tool, "{}");
    EXPECT_EQ(resolve_policy({}, subject).policy, model::Policy::require_approval);
    const auto named = testing::make_policies(call.tool, model::Policy::auto_approve, "{}");
    EXPECT_EQ(resolve_policy(named, subject).policy, model::Policy::auto_approve);
  }
}

// Only a shell in a folder of the system that adds nothing but the text is removed, and only where agents add it.
TEST(ToolNames, only_plain_shell_wrappers_are_removed) {
  for (const char* command : {R"(["bash","-lc","ls"])", R"(["/bin/bash","-x","ls"])", R"(["/bin/bash","-lc","ls","x"])",
                              R"(["/wt/bash","-lc","ls"])"}) {
    const NamedCall call =
        name_call("codex", "shell", arguments_of(fmt::format(R"({{"command":{}}})", command)), "/wt");
    EXPECT_EQ(json::encode(*call.arguments.find("argv")), command);
  }
  EXPECT_EQ(name("claude", "Bash", R"({"command":"/bin/bash -lc ls"})"),
            R"(shell_execute {"command":"/bin/bash -lc ls"})");
  EXPECT_EQ(
      find_call_argv(name_call("codex", "shell", arguments_of(R"({"command":"ls","cmd":"id"})"), "/wt").arguments),
      std::vector<std::string>{"ls"});
}

}  // namespace
}  // namespace reeve::engine
