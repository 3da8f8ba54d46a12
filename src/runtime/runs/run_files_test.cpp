#include "runtime/runs/run_files.h"

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

// RUN-1: these files must be on disk before the store says that the run exists.
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

TEST_F(RunFiles, draft_is_complete_before_it_is_named) {
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

// RUN-13: a daemon may die between any two steps.
TEST_F(RunFiles, next_daemon_names_leftover_drafts) {
  EXPECT_FALSE(settle_files(runs_, RunId(7), 1, "0a")) << "no files are left";
  draft_run(runs_, "0a", plan());
  EXPECT_TRUE(settle_files(runs_, RunId(7), 1, "0a"));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 1, "0a")) << "unchanged";
  draft_attempt(place(RunId(7)).string(), "0b");
  EXPECT_FALSE(fs::exists(place(RunId(7)) / "2"));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 2, "0b"));
  EXPECT_TRUE(fs::is_directory(place(RunId(7)) / "2"));
  EXPECT_FALSE(fs::exists(place(RunId(7)) / draft_name("0b")));
  EXPECT_TRUE(settle_files(runs_, RunId(7), 3, "0c")) << "an empty folder can be made again";
  EXPECT_TRUE(fs::is_directory(place(RunId(7)) / "3"));
}

TEST_F(RunFiles, existing_attempt_folder_is_reused) {
  write_launch(runs_, RunId(7), plan());
  scratch_.write("runs/TR-7/2/out", "x");
  draft_attempt(place(RunId(7)).string(), "0b");
  EXPECT_TRUE(name_attempt(place(RunId(7)).string(), "0b", 2));
  EXPECT_TRUE(fs::exists(place(RunId(7)) / "2/out"));
  EXPECT_FALSE(fs::exists(place(RunId(7)) / draft_name("0b")));
}

TEST_F(RunFiles, unwritable_folder_is_an_error) {
  EXPECT_THROW(draft_run(runs_ + "/none", "0a", plan()), base::Error);
  scratch_.write("runs/new-0a", "a file");
  EXPECT_THROW(draft_run(runs_, "0a", plan()), base::Error);
}

}  // namespace
}  // namespace reeve::runtime
