#include "runtime/execution_ground.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/encode.h"
#include "tests/support/files.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;

using base::ExecutionId;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ExecutionGround make() {
  model::Config config;
  model::ToolProfile agent;
  agent.command = {"agent", "{prompt}"};
  agent.env = {{"MODE", "fast"}, {"AGENT_TOKEN", "t0p"}, {"ODD", "s3cret"}};
  agent.secrets = {"ODD"};
  agent.timeout = base::TimeLimit::off();
  config.tools = {{"agent", agent}};
  config.roles["coder"].temperature = 0.5;
  config.gates["test"] = {.command = {"make"}, .env = {{"CI_PASSWORD", "hush"}, {"N", "2"}}, .depends_on = {}};
  config.worktree.copy = {".env.example"};
  ExecutionGround ground = make_ground(config, "/project");
  ground.base_commit = "abc123";
  ground.apply = model::ApplyWhen::manual;
  ground.environment = {{"PATH", "/bin"}, {"API_KEY", "k3y"}};
  return ground;
}

void expect_same_but_secrets(const ExecutionGround& a, const ExecutionGround& b) {
  EXPECT_EQ(a.project, b.project);
  EXPECT_EQ(a.base_commit, b.base_commit);
  EXPECT_EQ(a.roles, b.roles);
  EXPECT_EQ(a.worktree, b.worktree);
  EXPECT_EQ(a.apply, b.apply);
  EXPECT_EQ(a.tools.at("agent").command, b.tools.at("agent").command);
  EXPECT_EQ(a.tools.at("agent").timeout, b.tools.at("agent").timeout);
}

class Grounds : public ::testing::Test {
 protected:
  testing::ScratchFolder scratch_;
  void write(ExecutionId execution, const ExecutionGround& ground) const {
    draft_ground(folder_, "0f", ground);
    EXPECT_TRUE(name_ground(folder_, "0f", execution));
  }
  project::StateFolder folder_{scratch_.path() / "state"};
};

// LOG-4: what a tool's `secrets` names is hidden wherever a worktree is shown, as what the names give away.
TEST(Ground, isolation_knows_all_that_is_secret) {
  ExecutionGround ground = make();
  ground.environment["ODD"] = "of the person";
  ground.environment["PLAIN"] = "plain";
  EXPECT_THAT(make_isolation_ground(ground).secrets,
              ::testing::UnorderedElementsAre("t0p", "s3cret", "of the person", "k3y", "hush"));
}

// LOG-4: the store is read by others.
TEST(Ground, what_is_stored_has_neither_environment_nor_secrets) {
  const base::Value stored = encode_public(make());
  const std::string text = json::encode(stored);
  EXPECT_THAT(text, AllOf(HasSubstr("MODE"), HasSubstr("abc123"), HasSubstr("\"manual\"")));
  for (const char* secret : {"t0p", "s3cret", "hush", "k3y", "API_KEY"}) EXPECT_THAT(text, Not(HasSubstr(secret)));
  const auto read = decode_public(stored);
  ASSERT_TRUE(read);
  expect_same_but_secrets(*read, make());
  EXPECT_EQ(read->gates.at("test").env, (std::map<std::string, std::string>{{"N", "2"}}));
  EXPECT_TRUE(read->environment.empty());
  EXPECT_FALSE(decode_public(base::Value::string("nonsense")));
}

// SPEC §7: frozen when it starts.
TEST_F(Grounds, are_read_as_they_were_written) {
  const ExecutionGround ground = make();
  write(ExecutionId(7), ground);
  const auto read = read_ground(folder_, ExecutionId(7));
  ASSERT_TRUE(read);
  expect_same_but_secrets(*read, ground);
  EXPECT_EQ(read->tools, ground.tools);
  EXPECT_EQ(read->gates, ground.gates);
  EXPECT_EQ(read->environment, ground.environment);
  EXPECT_FALSE(read_ground(folder_, ExecutionId(8))) << "started elsewhere";
}

TEST_F(Grounds, are_for_their_owner_alone) {
  write(ExecutionId(7), make());
  struct stat status{};
  ASSERT_EQ(::stat((folder_.executions() / "EX-7/start").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077U, 0U);
}

TEST_F(Grounds, a_broken_file_is_none) {
  write(ExecutionId(7), make());
  scratch_.write("state/executions/EX-7/start", "{\"ground\": ");
  EXPECT_FALSE(read_ground(folder_, ExecutionId(7)));
  scratch_.write("state/executions/EX-7/start", "[]");
  EXPECT_FALSE(read_ground(folder_, ExecutionId(7)));
}

// The next daemon finds what is still to be done at the end of an execution.
TEST_F(Grounds, stay_open_until_they_are_closed) {
  EXPECT_THAT(find_open_grounds(folder_), IsEmpty()) << "no folder at all";
  write(ExecutionId(7), make());
  write(ExecutionId(12), make());
  scratch_.write("state/executions/notes/open", "");
  EXPECT_THAT(find_open_grounds(folder_), ::testing::UnorderedElementsAre(ExecutionId(7), ExecutionId(12)));
  close_ground(folder_, ExecutionId(7));
  close_ground(folder_, ExecutionId(7));
  EXPECT_THAT(find_open_grounds(folder_), ElementsAre(ExecutionId(12)));
  EXPECT_TRUE(read_ground(folder_, ExecutionId(7))) << "it may be tried again";
  EXPECT_TRUE(reopen_ground(folder_, ExecutionId(7)));
  EXPECT_FALSE(reopen_ground(folder_, ExecutionId(7))) << "it was open";
  EXPECT_EQ(find_open_grounds(folder_).size(), 2U);
  remove_ground(folder_, ExecutionId(7));
  EXPECT_FALSE(read_ground(folder_, ExecutionId(7)));
  reopen_ground(folder_, ExecutionId(7));
  EXPECT_THAT(find_open_grounds(folder_), ElementsAre(ExecutionId(12))) << "there is nothing to go on with";
}

// GRF-13: written before the execution exists, named after it once it does.
TEST_F(Grounds, are_nobodys_before_they_have_a_name) {
  draft_ground(folder_, "0a", make());
  draft_ground(folder_, "0b", make());
  EXPECT_THAT(find_open_grounds(folder_), IsEmpty());
  EXPECT_THAT(find_ground_drafts(folder_), ::testing::UnorderedElementsAre("0a", "0b"));
  drop_ground_draft(folder_, "0b");
  // Of another database: what lies there is not its own.
  scratch_.write("state/executions/EX-7/start", "old");
  scratch_.write("state/executions/EX-7/other", "old");
  EXPECT_TRUE(name_ground(folder_, "0a", ExecutionId(7)));
  EXPECT_TRUE(read_ground(folder_, ExecutionId(7)));
  EXPECT_FALSE(fs::exists(folder_.executions() / "EX-7/other"));
  EXPECT_THAT(find_ground_drafts(folder_), IsEmpty());
  EXPECT_FALSE(name_ground(folder_, "0c", ExecutionId(9)));
}

}  // namespace
}  // namespace reeve::runtime
