#include "runtime/settings/execution_settings.h"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/value.h"
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

ExecutionSettings make() {
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
  config.policies.tools["file_write"] = {{model::Policy::auto_approve, {{"path", base::Value::string("src/**")}}}};
  config.policies.roles["reviewer"]["file_write"] = {{model::Policy::deny, {}}};
  config.agents.fallback_tools["Grep"] = {"search_files"};
  ExecutionSettings settings = make_settings(config, "/project");
  settings.base_commit = "abc123";
  settings.apply = model::ApplyWhen::manual;
  settings.environment = {{"PATH", "/bin"}, {"API_KEY", "k3y"}};
  return settings;
}

void expect_same_but_secrets(const ExecutionSettings& a, const ExecutionSettings& b) {
  EXPECT_EQ(a.project, b.project);
  EXPECT_EQ(a.base_commit, b.base_commit);
  EXPECT_EQ(a.roles, b.roles);
  EXPECT_EQ(a.worktree, b.worktree);
  EXPECT_EQ(a.apply, b.apply);
  // TOOL-1: on every host that continues the execution.
  EXPECT_EQ(a.policies, b.policies);
  EXPECT_EQ(a.agents, b.agents);
  EXPECT_EQ(a.tools.at("agent").command, b.tools.at("agent").command);
  EXPECT_EQ(a.tools.at("agent").timeout, b.tools.at("agent").timeout);
}

class ExecutionSettingsFiles : public ::testing::Test {
 protected:
  testing::ScratchFolder scratch_;
  void write(ExecutionId execution, const ExecutionSettings& settings) const {
    draft_settings(folder_, "0f", settings);
    EXPECT_TRUE(name_settings(folder_, "0f", execution));
  }
  project::StateFolder folder_{scratch_.path() / "state"};
};

// LOG-4: values named in a tool's `secrets` are masked wherever a worktree is shown, like those of variables with
// secret names.
TEST(Settings, isolation_receives_every_secret) {
  ExecutionSettings settings = make();
  settings.environment["ODD"] = "of the person";
  settings.environment["PLAIN"] = "plain";
  EXPECT_THAT(make_isolation_settings(settings).secrets,
              ::testing::UnorderedElementsAre("t0p", "s3cret", "of the person", "k3y", "hush"));
}

// LOG-4: others can read the store.
TEST(Settings, public_form_has_no_environment_or_secrets) {
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

// SPEC §7: settings are frozen at the start.
TEST_F(ExecutionSettingsFiles, round_trip_through_the_file) {
  const ExecutionSettings settings = make();
  write(ExecutionId(7), settings);
  const auto read = read_settings(folder_, ExecutionId(7));
  ASSERT_TRUE(read);
  expect_same_but_secrets(*read, settings);
  EXPECT_EQ(read->tools, settings.tools);
  EXPECT_EQ(read->gates, settings.gates);
  EXPECT_EQ(read->environment, settings.environment);
  EXPECT_FALSE(read_settings(folder_, ExecutionId(8))) << "started elsewhere";
}

// TOOL-9: an execution that an earlier version started has no policies, and a person is asked about every call.
TEST_F(ExecutionSettingsFiles, without_policies_allow_nothing) {
  write(ExecutionId(7), make());
  scratch_.write("state/executions/EX-7/start", R"({"ground": {"project": "/project"}, "environment": {}})");
  const auto read = read_settings(folder_, ExecutionId(7));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->policies, model::Policies());
}

TEST_F(ExecutionSettingsFiles, are_readable_by_the_owner_only) {
  write(ExecutionId(7), make());
  struct stat status{};
  ASSERT_EQ(::stat((folder_.executions() / "EX-7/start").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 077U, 0U);
}

TEST_F(ExecutionSettingsFiles, broken_file_reads_as_missing) {
  write(ExecutionId(7), make());
  scratch_.write("state/executions/EX-7/start", "{\"ground\": ");
  EXPECT_FALSE(read_settings(folder_, ExecutionId(7)));
  scratch_.write("state/executions/EX-7/start", "[]");
  EXPECT_FALSE(read_settings(folder_, ExecutionId(7)));
}

// The next daemon finds the executions whose cleanup is not finished.
TEST_F(ExecutionSettingsFiles, remain_open_until_closed) {
  EXPECT_THAT(find_open_settings(folder_), IsEmpty()) << "no folder at all";
  write(ExecutionId(7), make());
  write(ExecutionId(12), make());
  scratch_.write("state/executions/notes/open", "");
  EXPECT_THAT(find_open_settings(folder_), ::testing::UnorderedElementsAre(ExecutionId(7), ExecutionId(12)));
  close_settings(folder_, ExecutionId(7));
  close_settings(folder_, ExecutionId(7));
  EXPECT_THAT(find_open_settings(folder_), ElementsAre(ExecutionId(12)));
  EXPECT_TRUE(read_settings(folder_, ExecutionId(7))) << "it may be retried";
  EXPECT_TRUE(reopen_settings(folder_, ExecutionId(7)));
  EXPECT_FALSE(reopen_settings(folder_, ExecutionId(7))) << "it was open";
  EXPECT_EQ(find_open_settings(folder_).size(), 2U);
  remove_settings(folder_, ExecutionId(7));
  EXPECT_FALSE(read_settings(folder_, ExecutionId(7)));
  reopen_settings(folder_, ExecutionId(7));
  EXPECT_THAT(find_open_settings(folder_), ElementsAre(ExecutionId(12))) << "there is nothing to continue";
}

// GRF-13: written before the execution exists, and renamed once it does.
TEST_F(ExecutionSettingsFiles, drafts_have_no_execution_until_named) {
  draft_settings(folder_, "0a", make());
  draft_settings(folder_, "0b", make());
  EXPECT_THAT(find_open_settings(folder_), IsEmpty());
  EXPECT_THAT(find_settings_drafts(folder_), ::testing::UnorderedElementsAre("0a", "0b"));
  drop_settings_draft(folder_, "0b");
  // The existing file belongs to another database.
  scratch_.write("state/executions/EX-7/start", "old");
  scratch_.write("state/executions/EX-7/other", "old");
  EXPECT_TRUE(name_settings(folder_, "0a", ExecutionId(7)));
  EXPECT_TRUE(read_settings(folder_, ExecutionId(7)));
  EXPECT_FALSE(fs::exists(folder_.executions() / "EX-7/other"));
  EXPECT_THAT(find_settings_drafts(folder_), IsEmpty());
  EXPECT_FALSE(name_settings(folder_, "0c", ExecutionId(9)));
}

}  // namespace
}  // namespace reeve::runtime
