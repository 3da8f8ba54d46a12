#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Calls that Reeve's tool host runs: each at most once, wherever the daemon dies (TOOL-4).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;
using testing::Session;
using testing::Words;

class ToolCallHost : public testing::ToolCallsTest {
 protected:
  ToolCallHost() { configure(agent_config(", resume: live", rules())); }

  // Writing to `free` and these commands are allowed; every other one asks.
  std::string rules() const {
    return fmt::format(
        ", file_write: {{policy: auto_approve, when: {{path: 'free/**'}}}}, git_add: auto_approve, "
        "git_commit: auto_approve, shell_execute: {{policy: auto_approve, when: {{argv: [[ls], [/bin/sh, -c, "
        "\"{}\"]]}}}}",
        effect("free"));
  }
  std::string shell_arguments(const std::string& word) const {
    return fmt::format(R"({{"argv":["/bin/sh","-c","{}"]}})", effect(word));
  }
  std::string run_call(const std::string& id, const std::string& tool, const std::string& arguments) const {
    return "call " + id + " " + tool + " " + quoted(arguments) + " --execute\n";
  }
  std::string git(Words words) const {
    words.insert(words.begin(), "git");
    const testing::Outcome outcome = testing::run_program(
        {.argv = words,
         .folder = project(),
         .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", (scratch().path() / "home").string()}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(0, outcome.out.find('\n'));
  }
  void make_repository() const {
    git({"init", "-q"});
    git({"config", "user.name", "Ana"});
    git({"config", "user.email", "ana@example.org"});
    git({"commit", "-q", "--allow-empty", "-m", "first"});
  }
  int count_commits() const { return std::stoi(git({"rev-list", "--count", "HEAD"})); }
};

TEST_F(ToolCallHost, allowed_call_returns_the_result_of_its_tool) {
  scratch().write("project/notes", "remember the milk\n");
  fs::create_directory(project() / "free");
  const std::string run =
      begin(run_call("c1", "file_read", R"({"path":"notes"})") +
            run_call("c2", "file_write", R"({"path":"free/a","content":"text"})") +
            run_call("c3", "shell_execute", R"({"argv":["ls"]})") + run_call("c4", "file_read", R"({"path":"none"})"));
  expect_completed(run);
  EXPECT_THAT(logs(run), AllOf(HasSubstr("remember the milk"), HasSubstr(R"("is_error":false)"), HasSubstr("notes"),
                               HasSubstr("[exit 0, TR-2]"), HasSubstr(R"("is_error":true)")));
  EXPECT_EQ(testing::read_text(project() / "free/a"), "text");
  EXPECT_EQ(call_of(run, "c1")["outcome"], "ran");
  EXPECT_EQ(call_of(run, "c4")["outcome"], "failed");
}

// TOOL-6
TEST_F(ToolCallHost, unusable_requests_are_refused_with_a_hint) {
  const std::string said =
      say("call c1 Grep '{}' --execute; call c2 launch '{}' --execute\n"
          "call c3 file_read '{\"path\":1}' --execute; call c4 file_read '{}' --execute\n"
          "call c5 shell_execute '{\"command\":\"ls\",\"argv\":[\"ls\"]}' --execute");
  EXPECT_THAT(said, AllOf(HasSubstr("call.unknown_tool"), HasSubstr("search_files")));
  EXPECT_EQ(testing::count_of(said, "\"code\":\"call.unknown_tool\""), 2) << said;
  EXPECT_EQ(testing::count_of(said, "\"code\":\"call.bad_request\""), 3) << said;
  EXPECT_EQ(reeve({"calls"}).out, "");
}

// The parent holds a slot: a command that waited for another one could wait for ever (RUN-14).
TEST_F(ToolCallHost, command_waits_for_no_slot) {
  configure(agent_config(", resume: live", rules(), "supervision: {max_parallel_runs: 1, queue: always}\n"));
  const std::string run = begin(run_call("c1", "shell_execute", shell_arguments("free")));
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("free"));
}

// A command that could ask would have calls that nobody connects with the agent's.
TEST_F(ToolCallHost, command_cannot_call_tools) {
  const std::string script = functions() + "call inner probe '{}'";
  const std::string file = this->script("inner.sh", script);
  const std::string run = begin(run_call("c1", "shell_execute", R"({"argv":["/bin/sh",")" + file + R"("]})"));
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  EXPECT_THAT(logs(run), HasSubstr("approval.gate_asks"));
  EXPECT_THAT(calls_of("TR-2"), IsEmpty());
}

// What runs for an agent ends with it.
TEST_F(ToolCallHost, command_ends_with_its_agent) {
  const std::string arguments =
      fmt::format(R"({{"argv":["{}","wait-file","{}/never"]}})", testing::zoo_binary(), project().string());
  const std::string run = begin(run_call("c1", "shell_execute", arguments));
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return reeve({"logs", "TR-2"}).out.contains("waiting"); }));
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
  EXPECT_EQ(finish("TR-2")["status"], "cancelled");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// What the agent cannot do itself it cannot have done by the host.
TEST_F(ToolCallHost, command_has_the_sandbox_of_its_agent) {
  configure("tools:\n  kept: {command: [/bin/sh, -c], resume: live, sandbox: guard}\n");
  fs::create_directory(scratch().path() / "outside");
  const std::string inside = (project() / "inside").string();
  const std::string outside = (scratch().path() / "outside/file").string();
  const std::string body = fmt::format(
      R"({{"call":"c1","tool":"shell_execute","arguments":{{"argv":["/bin/sh","-c","echo x > {}; echo x > {}"]}},"execute":true}})",
      inside, outside);
  const std::string run = begin("post tool-calls " + quoted(body) +
                                    " >/dev/null; get tool-calls/c1/wait?timeout=20s "
                                    ">/dev/null; post tool-calls " +
                                    quoted(body),
                                "kept");
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  EXPECT_TRUE(fs::exists(inside)) << logs(run);
  EXPECT_FALSE(fs::exists(outside));
}

// APR-10, TOOL-4: between the decision and the start of a command, its folder is replaced: by a symlink that leads
// outside, by another folder, and by a symlink to where it is now.
TEST_F(ToolCallHost, command_starts_in_the_folder_that_was_decided_about_or_not_at_all) {
  const fs::path sub = project() / "sub";
  const fs::path outside = scratch().path() / "outside";
  fs::create_directory(outside);
  int number = 0;
  for (const char* sandbox : {"none", "guard"}) {
    configure(agent_config(fmt::format(", resume: live, sandbox: {}", sandbox), rules()));
    for (const std::string_view way : {"symlink", "folder", "moved"}) {
      SCOPED_TRACE(fmt::format("{} {}", sandbox, way));
      const std::string name = fmt::format("c{}", ++number);
      fs::remove_all(sub);
      fs::create_directory(sub);
      const std::string run = begin("wait_file " + name + "; call " + name + " shell_execute " +
                                    quoted(R"({"argv":["ls"]})") + " --execute --cwd " + sub.string());
      wait_for_status(run, "running");
      auto daemon = serve_until("run.after_assign");
      let(name);
      expect_killed(*daemon, "run.after_assign");
      const fs::path moved = outside / ("moved-" + name);
      fs::rename(sub, moved);
      if (way == "folder") fs::create_directory(sub);
      if (way == "symlink") fs::create_directory_symlink(outside, sub);
      if (way == "moved") fs::create_directory_symlink(moved, sub);
      std::ofstream(sub / "seen");
      finish(run);
      // `lost`: the agent asked again, was refused because of the folder, and left.
      const auto calls = calls_of(run);
      ASSERT_FALSE(calls.empty());
      EXPECT_THAT(calls.front().at("outcome"), ::testing::AnyOf("failed", "lost")) << logs(run);
      // Asked again about another folder, it is another call, which the rules allow.
      if (way != "folder") EXPECT_THAT(logs(run), Not(HasSubstr("seen\\n")));
    }
  }
}

class ToolCallHostKill : public ToolCallHost, public ::testing::WithParamInterface<const char*> {};

// The test undoes what the tool did before the next daemon starts: a repetition would do it again.
TEST_P(ToolCallHostKill, file_write_is_not_repeated) {
  const std::string point = GetParam();
  fs::create_directory(project() / "free");
  auto daemon = serve_until(point);
  const std::string run = begin(run_call("c1", "file_write", R"({"path":"free/a","content":"text"})"));
  expect_killed(*daemon, point);
  const bool had_begun = point == "call.after_begin" || point == "call.before_end";
  EXPECT_EQ(fs::remove(project() / "free/a"), point == "call.before_end");
  finish(run);
  EXPECT_EQ(fs::exists(project() / "free/a"), !had_begun) << logs(run);
  if (had_begun) EXPECT_THAT(logs(run), HasSubstr("its result is lost"));
  EXPECT_THAT(call_of(run, "c1")["outcome"], had_begun ? "lost" : "ran");
  EXPECT_EQ(calls_of(run).size(), 1U);
  expect_audit_intact();
}

TEST_P(ToolCallHostKill, commit_is_made_at_most_once) {
  const std::string point = GetParam();
  make_repository();
  scratch().write("project/a", "1\n");
  auto daemon = serve_until(point);
  const std::string run = begin("wait_file go; " + run_call("c1", "git_commit", R"({"message":"change"})"));
  git({"add", "a"});
  let("go");
  expect_killed(*daemon, point);
  EXPECT_EQ(count_commits(), point == "call.before_end" ? 2 : 1);
  finish(run);
  EXPECT_EQ(count_commits(), point == "call.after_begin" ? 1 : 2) << logs(run);
}

INSTANTIATE_TEST_SUITE_P(Points, ToolCallHostKill,
                         ::testing::Values("call.before_store", "call.after_store", "call.after_begin",
                                           "call.before_end"),
                         [](const auto& point) {
                           std::string name = point.param;
                           name[name.find('.')] = '_';
                           return name;
                         });

}  // namespace
}  // namespace reeve
