#include "runtime/run_files.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "keeper/records.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

using base::RunId;

// RUN-1: what must lie on the disk before the store says that it exists.
class RunFiles : public ::testing::Test {
 protected:
  RunFiles() { fs::create_directories(runs_); }
  static RunPlan plan() {
    RunPlan made{.tool = "aider", .argv = {"aider"}, .cwd = "/"};
    made.prompt = "do it";
    return made;
  }
  fs::path place(RunId run) const { return fs::path(runs_) / run.text(); }

  testing::ScratchFolder scratch_;
  std::string runs_ = (scratch_.path() / "runs").string();
};

TEST_F(RunFiles, are_whole_before_they_have_their_name) {
  draft_run(runs_, "0a", plan());
  EXPECT_FALSE(fs::exists(place(RunId(7))));
  EXPECT_TRUE(name_run(runs_, "0a", RunId(7)));
  EXPECT_TRUE(fs::exists(place(RunId(7)) / keeper::launch_name));
  EXPECT_TRUE(fs::exists(place(RunId(7)) / keeper::prompt_name));
  EXPECT_TRUE(fs::is_directory(place(RunId(7)) / "1"));
  EXPECT_FALSE(fs::exists(fs::path(runs_) / draft_name("0a")));
}

TEST_F(RunFiles, of_another_database_are_kept_aside) {
  scratch_.write("runs/TR-7/1/out", "old");
  draft_run(runs_, "0a", plan());
  EXPECT_TRUE(name_run(runs_, "0a", RunId(7)));
  EXPECT_FALSE(fs::exists(place(RunId(7)) / "1/out"));
  EXPECT_TRUE(fs::exists(place(RunId(7)).string() + ".before-0a/1/out"));
}

// RUN-13: whatever a daemon died between.
TEST_F(RunFiles, are_named_by_the_next_daemon) {
  EXPECT_FALSE(settle_files(runs_, RunId(7), 1, "0a")) << "nothing is left of it";
  draft_run(runs_, "0a", plan());
  EXPECT_TRUE(settle_files(runs_, RunId(7), 1, "0a"));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 1, "0a")) << "as it is";
  draft_attempt(place(RunId(7)).string(), "0b");
  EXPECT_FALSE(fs::exists(place(RunId(7)) / "2"));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 2, "0b"));
  EXPECT_TRUE(fs::is_directory(place(RunId(7)) / "2"));
  EXPECT_FALSE(fs::exists(place(RunId(7)) / draft_name("0b")));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 3, "0c")) << "an empty folder can be made again";
  EXPECT_TRUE(fs::is_directory(place(RunId(7)) / "3"));
}

TEST_F(RunFiles, a_folder_that_is_there_is_used) {
  write_launch(runs_, RunId(7), plan());
  scratch_.write("runs/TR-7/2/out", "x");
  draft_attempt(place(RunId(7)).string(), "0b");
  EXPECT_TRUE(name_attempt(place(RunId(7)).string(), "0b", 2));
  EXPECT_TRUE(fs::exists(place(RunId(7)) / "2/out"));
  EXPECT_FALSE(fs::exists(place(RunId(7)) / draft_name("0b")));
}

TEST_F(RunFiles, that_cannot_be_written_say_so) {
  EXPECT_THROW(draft_run(runs_ + "/none", "0a", plan()), base::Error);
  scratch_.write("runs/new-0a", "a file");
  EXPECT_THROW(draft_run(runs_, "0a", plan()), base::Error);
}

}  // namespace
}  // namespace reeve::runtime
