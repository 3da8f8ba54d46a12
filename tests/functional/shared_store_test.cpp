#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approval_flow.h"

// Several daemons of one machine, each with a state folder of its own, on one PostgreSQL (tests/CMakeLists.txt): what
// one does is seen by the others, and nobody takes the runs of another for its own.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Session;
using testing::Variables;
using testing::Words;

class SharedStore : public testing::ApprovalFlowTest {
 protected:
  void SetUp() override {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server was started";
    const std::string database = fmt::format("shared_store_{}", ::getpid());
    const Outcome made = testing::run_program(
        {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
    ASSERT_EQ(made.code, 0) << made.err;
    // Of the person: every state folder goes by it.
    scratch().write("home/.config/reeve/config.yaml",
                    fmt::format("store: 'postgresql:///{}?host={}&user=reeve'\nsupervision: {{poll_interval: 200ms}}\n",
                                database, server));
  }
  void TearDown() override {
    for (const char* name : {"b", "c"}) {
      if (fs::exists(folder(name) / "reeve.sock")) EXPECT_EQ(at(name, {"stop"}).code, 0);
    }
    ApprovalFlowTest::TearDown();
  }

  fs::path folder(const std::string& name) const { return scratch().path() / name; }
  // The daemon of the test itself is A; this is one of the others.
  testing::Launch launch_at(const std::string& name, const Words& words) const {
    testing::Launch made = launch(words);
    for (auto& [key, value] : made.environment) {
      if (key == "REEVE_STATE") value = folder(name).string();
    }
    return made;
  }
  Outcome at(const std::string& name, const Words& words) const { return testing::run_program(launch_at(name, words)); }
  fs::path launch_file(const std::string& run) const { return state() / "runs" / run / "launch"; }
};

// APR-7: the run is started again where its launch lies.
TEST_F(SharedStore, a_run_that_is_approved_elsewhere_is_started_by_its_own_daemon) {
  ASSERT_EQ(at("b", {"runs"}).code, 0);
  const std::string run = start_script(asks_then("effect"));
  wait_for_status(run, "waiting_approval");
  const Outcome approved = at("b", {"approve", question_of(run)});
  EXPECT_EQ(approved.code, 0) << approved.err;
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "2");
  EXPECT_EQ(effects().size(), 1U);
}

// RUN-13: a daemon that begins recovers its own runs.
TEST_F(SharedStore, a_daemon_that_begins_leaves_the_runs_of_others_alone) {
  const Gate gate(scratch().path() / "gate");
  const std::string run = start_script("echo begun; read line < " + gate.path() + "; " + effect_command("effect"));
  wait_for_output(run, "begun");
  for (const char* name : {"b", "c"}) EXPECT_THAT(at(name, {"show", run, "--json"}).out, HasSubstr("\"running\""));
  EXPECT_EQ(show(run).at("status"), "running");
  gate.open();
  const Members over = finish(run);
  EXPECT_EQ(over.at("status"), "completed") << over.at("reason");
  EXPECT_EQ(over.at("attempt"), "1");
  EXPECT_EQ(effects().size(), 1U);
}

}  // namespace
}  // namespace reeve
