#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// `reeve hook` inside runs of a real daemon: many at once, and what becomes of the calls.
namespace reeve {
namespace {

class HookGate : public testing::ToolCallsTest {
 protected:
  // Shell: the hook of an agent with this input.
  static std::string hook(const std::string& agent, const std::string& input, const std::string& options = {}) {
    return "printf '%s' " + input + " | '" + testing::reeve_binary() + "' hook " + agent + " " + options;
  }
  std::string input(const std::string& event, const std::string& command, const std::string& id,
                    const std::string& more = {}) const {
    return fmt::format(R"({{"hook_event_name":"{}","session_id":"s1","cwd":"{}","tool_name":"Bash",)"
                       R"("tool_input":{{"command":"{}"}},{}"tool_use_id":"{}"}})",
                       event, project().string(), command, more, id);
  }
};

// TOOL-3: a batch of an agent's calls waits at once, each with its own hook; one person answers all.
TEST_F(HookGate, hundred_calls_of_one_run_wait_at_once) {
  constexpr int count = 100;
  const std::string one = hook("claude", "\"$(printf '" + input("PreToolUse", "make all", "toolu_%s") + "' $i)\"");
  const std::string run = begin(fmt::format("for i in $(seq {}); do {} >out-$i & done; wait\n", count, one) +
                                "cat out-* | grep -o '\"permissionDecision\":\"allow\"' | wc -l; rm out-*");
  const auto waiting = wait_for_waiting(run, count);
  ASSERT_EQ(waiting.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(reeve({"approvals", "--json", "--limit", "1000"}).code, 0);
  EXPECT_EQ(approve(waiting.front().at("approval_id"), {"--equal"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(testing::count_of(logs(run), std::to_string(count)), 1) << logs(run);
}

// TOOL-7: the installed entries report what became of a call; asked again under the same id, it is over (APR-7).
TEST_F(HookGate, reported_call_is_over) {
  const std::string first = quoted(input("PreToolUse", "make all", "toolu_1"));
  const std::string after = quoted(input("PostToolUse", "make all", "toolu_1", R"("tool_response":{"stdout":"ok"},)"));
  const std::string failed = quoted(input("PreToolUse", "make x", "toolu_2"));
  const std::string failure = quoted(input("PostToolUseFailure", "make x", "toolu_2", R"("error":"exit 2",)"));
  const std::string run = begin(hook("claude", first) + "; " + hook("claude", after) + "\n" + hook("claude", first) +
                                "; echo code=$?\n" + hook("claude", failed) + "; " + hook("claude", failure) + "\n");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  EXPECT_EQ(call_of(run, "toolu_1")["outcome"], "ran");
  EXPECT_NE(call_of(run, "toolu_1")["result_digest"], "null");
  EXPECT_EQ(call_of(run, "toolu_2")["outcome"], "failed");
  EXPECT_EQ(calls_of(run).size(), 2U);
  EXPECT_EQ(testing::count_of(logs(run), R"("permissionDecision":"allow")"), 2) << logs(run);
  EXPECT_EQ(testing::count_of(logs(run), "already over"), 1) << logs(run);
  EXPECT_EQ(testing::count_of(logs(run), "code=0"), 1) << logs(run);
  expect_audit_intact();
}

// What the tool host says that it takes does arrive, however it is escaped; more is refused.
TEST_F(HookGate, largest_file_that_the_schema_allows_can_be_written) {
  configure(agent_config(", resume: live", ", file_write: {policy: auto_approve, when: {path: 'free/**'}}"));
  const auto write = [](const std::string& id, const std::string& bytes) {
    return "{ printf '{\"call\":\"" + id +
           "\",\"tool\":\"file_write\",\"execute\":true,\"arguments\":{\"path\":\"free/" + id +
           "\",\"create_folders\":true,\"content\":\"'; head -c " + bytes +
           " /dev/zero | sed 's/\\x00/\\\\u0001/g'; printf '\"}}'; } >body\n"
           "curl -s --unix-socket \"$REEVE_SOCKET\" -H 'Content-Type: application/json' --data-binary @body "
           "http://reeve/api/tool-calls; echo; rm body\n";
  };
  const std::string run = begin(write("most", "2097152") + write("more", "2097153"));
  expect_completed(run);
  EXPECT_EQ(std::filesystem::file_size(project() / "free/most"), 2'097'152U) << logs(run);
  EXPECT_FALSE(std::filesystem::exists(project() / "free/more"));
  EXPECT_THAT(logs(run), ::testing::HasSubstr("longer than 2097152 bytes"));
}

}  // namespace
}  // namespace reeve
