#include "runtime/metrics/state_watch.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

class StateWatchTest : public ::testing::Test {
 protected:
  StateWatchTest() {
    fs::create_directory(root_);
    std::ofstream(database_) << "data";
  }
  StateWatch::Options options() {
    return {.root = root_,
            .database = database_,
            .changed = [this](const StateFinding& finding) { changes_.push_back(finding.what); },
            .settled =
                [this](const StateFinding& finding) {
                  settled_.push_back(finding.what);
                  loop_.stop();
                },
            .settle_time = base::Milliseconds(1)};
  }

  testing::ScratchFolder scratch_;
  fs::path root_ = scratch_.path() / "state";
  fs::path database_ = root_ / "reeve.db";
  Loop loop_;
  std::vector<std::string> changes_;
  std::vector<std::string> settled_;
};

// SECURITY: where inotify reports nothing, a poll of another thread finds removed files.
TEST_F(StateWatchTest, poll_tells_each_change_once) {
  StateWatch watch(loop_, options());
  const auto poll = watch.make_poll();
  EXPECT_FALSE(poll());
  fs::remove(database_);
  EXPECT_TRUE(poll());
  EXPECT_FALSE(poll());
  EXPECT_TRUE(changes_.empty()) << "it leaves the report to the loop";
  EXPECT_EQ(watch.check().kind, StateFinding::Kind::files_missing);
  std::ofstream(database_) << "another file";
  EXPECT_TRUE(poll()) << "replaced";
  fs::remove_all(root_);
  EXPECT_TRUE(poll());
  EXPECT_FALSE(poll());
  EXPECT_EQ(watch.check().kind, StateFinding::Kind::gone);
}

TEST_F(StateWatchTest, poll_may_outlive_the_watch) {
  const auto poll = StateWatch(loop_, options()).make_poll();
  EXPECT_FALSE(poll());
  fs::remove(database_);
  EXPECT_TRUE(poll());
}

// A change that only a poll or a request noticed is settled too: that is when lock and socket are recreated.
TEST_F(StateWatchTest, checked_change_is_reported_and_settles) {
  StateWatch watch(loop_, options());
  fs::remove(database_);
  watch.check();
  EXPECT_EQ(changes_, std::vector<std::string>{"reeve.db was removed"});
  loop_.run();
  EXPECT_EQ(settled_.front(), "reeve.db was removed");
  EXPECT_EQ(changes_.size(), 1);
}

}  // namespace
}  // namespace reeve::runtime
