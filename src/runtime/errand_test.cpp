#include "runtime/errand.h"

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

class ErrandTest : public ::testing::Test {
 protected:
  static Errand::Plan shell(const std::string& script) {
    return {.argv = {"sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}};
  }
  Errand::End run(Errand::Plan plan) {
    Errand::End end;
    const Errand errand(loop_, std::move(plan), [&](const Errand::End& told) {
      end = told;
      loop_.stop();
    });
    loop_.run();
    return end;
  }

  Loop loop_;
};

TEST_F(ErrandTest, tells_how_it_ended_and_what_it_said) {
  const Errand::End good = run(shell("echo out; echo err >&2"));
  EXPECT_TRUE(good.is_good());
  EXPECT_EQ(good.output, "out\nerr\n");
  const Errand::End bad = run(shell("printf 'no\\033way'; exit 3"));
  EXPECT_FALSE(bad.is_good());
  EXPECT_EQ(bad.why(), "exit code 3: no\\x1bway");
}

TEST_F(ErrandTest, one_that_cannot_begin_says_why) {
  const Errand::End end = run({.argv = {"no-such-program"}, .environment = {"PATH=/usr/bin:/bin"}});
  EXPECT_FALSE(end.is_good());
  EXPECT_THAT(end.why(), HasSubstr("No such file"));
}

TEST_F(ErrandTest, reads_its_input_and_otherwise_nothing) {
  Errand::Plan plan = shell("cat");
  EXPECT_EQ(run(plan).output, "");
  plan.argv = {"wc", "-c"};
  plan.input = std::string(3'000'000, 'x');
  EXPECT_EQ(run(plan).output, "3000000\n");
}

TEST_F(ErrandTest, what_it_prints_is_read_and_not_kept) {
  const Errand::End end = run(shell("head -c 10000000 /dev/zero"));
  EXPECT_TRUE(end.is_good());
  EXPECT_THAT(end.output, SizeIs(4'096));
}

// With all that it started: the group, not the process.
TEST_F(ErrandTest, one_that_never_ends_is_killed_with_its_group) {
  const testing::ScratchFolder scratch;
  const std::string file = (scratch.path() / "pid").string();
  Errand::Plan plan = shell("sleep 1000 & echo $! > " + file + "; wait");
  plan.limit = std::chrono::milliseconds(500);
  const Errand::End end = run(plan);
  EXPECT_TRUE(end.was_late);
  EXPECT_THAT(end.why(), HasSubstr("did not end in time"));
  pid_t child = 0;
  std::ifstream(file) >> child;
  ASSERT_GT(child, 0);
  // Gone, or a zombie that whoever collects orphans here has not come to yet.
  EXPECT_TRUE(testing::eventually([&] {
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string number;
    std::string name;
    std::string state;
    return !(stat >> number >> name >> state) || state == "Z";
  }));
}

// Descriptors of a child that lives on hold up nothing.
TEST_F(ErrandTest, its_end_is_that_of_the_program_alone) {
  const Errand::End end = run(shell("sleep 5 & echo done"));
  EXPECT_TRUE(end.is_good());
  EXPECT_EQ(end.output, "done\n");
}

TEST_F(ErrandTest, one_who_leaves_can_wait_a_moment) {
  bool is_told = false;
  Errand errand(loop_, shell("echo done"), [&](const Errand::End&) { is_told = true; });
  const auto end = errand.wait(std::chrono::seconds(20));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->output, "done\n");
  EXPECT_FALSE(is_told);
  Errand slow(loop_, shell("sleep 1000"), [](const Errand::End&) {});
  EXPECT_FALSE(slow.wait(std::chrono::milliseconds(10)));
}

}  // namespace
}  // namespace reeve::runtime
