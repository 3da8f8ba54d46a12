#include "runtime/notify/hook_command.h"

#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/session.h"

namespace reeve::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class HookCommandTest : public ::testing::Test {
 protected:
  static HookCommand::Plan shell(const std::string& script) {
    return {.argv = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
  }
  HookCommand::End run(HookCommand::Plan plan) {
    HookCommand::End end;
    const HookCommand hook_command(loop_, std::move(plan), [&](const HookCommand::End& told) {
      end = told;
      loop_.stop();
    });
    loop_.run();
    return end;
  }

  Loop loop_;
};

TEST_F(HookCommandTest, reports_exit_status_and_output) {
  const HookCommand::End good = run(shell("echo out; echo err >&2"));
  EXPECT_TRUE(good.is_good());
  EXPECT_EQ(good.output, "out\nerr\n");
  const HookCommand::End bad = run(shell("printf 'no\\033way'; exit 3"));
  EXPECT_FALSE(bad.is_good());
  EXPECT_EQ(bad.why(), "exit code 3: no\\x1bway");
}

TEST_F(HookCommandTest, spawn_failure_names_the_reason) {
  const HookCommand::End end = run({.argv = {"no-such-program"}, .environment = {"PATH=/usr/bin:/bin"}});
  EXPECT_FALSE(end.is_good());
  EXPECT_THAT(end.why(), HasSubstr("No such file"));
}

TEST_F(HookCommandTest, stdin_is_the_given_input_or_empty) {
  HookCommand::Plan plan = shell("cat");
  EXPECT_EQ(run(plan).output, "");
  plan.argv = {"wc", "-c"};
  plan.input = std::string(3'000'000, 'x');
  EXPECT_EQ(run(plan).output, "3000000\n");
}

TEST_F(HookCommandTest, kept_output_is_bounded) {
  const HookCommand::End end = run(shell("head -c 10000000 /dev/zero"));
  EXPECT_TRUE(end.is_good());
  EXPECT_THAT(end.output, SizeIs(4'096));
}

// Kills the whole process group, not only the process.
TEST_F(HookCommandTest, timeout_kills_the_process_group) {
  const testing::ScratchFolder scratch;
  const std::string file = (scratch.path() / "pid").string();
  HookCommand::Plan plan = shell("sleep 1000 & echo $! > " + file + "; wait");
  plan.limit = std::chrono::milliseconds(500);
  const HookCommand::End end = run(plan);
  EXPECT_TRUE(end.was_late);
  EXPECT_THAT(end.why(), HasSubstr("timed out and was killed"));
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  // Gone, or a zombie that has not been reaped yet.
  EXPECT_TRUE(testing::eventually([&] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    return !(stat >> number >> name >> state) || state == "Z";
  }));
}

// A surviving child that holds the descriptors open blocks nothing.
TEST_F(HookCommandTest, ends_with_the_program_despite_open_descriptors) {
  const HookCommand::End end = run(shell("sleep 5 & echo done"));
  EXPECT_TRUE(end.is_good());
  EXPECT_EQ(end.output, "done\n");
}

TEST_F(HookCommandTest, wait_returns_the_result_within_a_timeout) {
  bool is_told = false;
  HookCommand hook_command(loop_, shell("echo done"), [&](const HookCommand::End&) { is_told = true; });
  const auto end = hook_command.wait(std::chrono::seconds(20));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "done\n");
  EXPECT_FALSE(is_told);
  HookCommand slow(loop_, shell("sleep 1000"), [](const HookCommand::End&) {});
  EXPECT_FALSE(slow.wait(std::chrono::milliseconds(10)));
}

}  // namespace
}  // namespace reeve::runtime
