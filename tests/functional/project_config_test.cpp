#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// SPEC §7: a request uses the config of its project, wherever the state is stored.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class ProjectConfig : public testing::FlowTest {
 protected:
  void TearDown() override {
    call(project(), {"stop"});
    FlowTest::TearDown();
  }

  // With the state folder outside every project.
  Outcome call(const fs::path& folder, Words words, const testing::Variables& more = {}) const {
    words.insert(words.end(), {"--state", (scratch().path() / "outside").string()});
    testing::Launch made = launch(words, more);
    made.folder = folder;
    return testing::run_program(made);
  }
  // A second, trusted project.
  fs::path make_other(const std::string& yaml) const {
    const fs::path folder = scratch().path() / "other";
    scratch().write("other/.reeve/config.yaml", yaml);
    EXPECT_EQ(call(folder, {"config", "trust", "--yes"}).code, 0);
    return folder;
  }
};

TEST_F(ProjectConfig, valid_workflow_starts) {
  const std::string file = write_workflow("one", chain("one", {{"a", "echo hello"}}));
  EXPECT_EQ(call(project(), {"flow", "validate", file}).code, 0);
  const Outcome started = call(project(), {"flow", "run", file});
  EXPECT_EQ(started.code, 0) << started.err;
  EXPECT_EQ(call(project(), {"flow", "run", "one"}).code, 0) << "by its name";
}

// What a start refuses, validate refuses too: both use the project of the current folder.
TEST_F(ProjectConfig, workflow_that_cannot_start_is_invalid) {
  const fs::path other = make_other("tools: {t: {command: [\"true\"]}}\ngates: {g: {command: [\"true\"]}}\n");
  const std::string file = write_workflow("one", chain("one", {{"a", "echo hello"}}));
  const std::string path = (project() / file).string();
  EXPECT_EQ(call(project(), {"flow", "validate", path}).code, 0);
  const Outcome checked = call(other, {"flow", "validate", path});
  const Outcome started = call(other, {"flow", "run", path});
  EXPECT_EQ(checked.code, started.code) << checked.err << started.err;
}

TEST_F(ProjectConfig, one_daemon_uses_the_config_of_each_project) {
  configure("tools: {t: {command: [echo, first], pass_env: [FAVOURITE]}}\npolicies: {tools: {git_push: deny}}\n");
  const fs::path other = make_other("tools: {t: {command: [echo, second]}}\npolicies: {tools: {git_add: deny}}\n");
  EXPECT_EQ(call(project(), {"run", "--tool", "t"}).out, "first\n");
  EXPECT_EQ(call(other, {"run", "--tool", "t"}).out, "second\n");
  EXPECT_EQ(call("/", {"run", "--tool", "t", "--cwd", other.string()}).out, "second\n")
      << "who stands in none means the one around the run";
  EXPECT_EQ(call("/", {"run", "--tool", "t"}).code, 2) << "there is none";
  EXPECT_EQ(call(project(), {"policy", "check", "git_push"}).code, 5);
  EXPECT_EQ(call(other, {"policy", "check", "git_push"}).code, 0);
  EXPECT_THAT(call(other, {"policy", "show"}).out, AllOf(HasSubstr("git_add\tdeny"), Not(HasSubstr("git_push\tdeny"))));
}

TEST_F(ProjectConfig, api_views_use_the_named_project) {
  const fs::path other = make_other("tools: {theirs: {command: [x]}}\ngates: {g: {command: [x]}}\nroles: {r: {}}\n");
  ASSERT_EQ(reeve({"runs"}).code, 0);
  for (const std::string path : {"tools", "gates", "roles"}) {
    const std::string name = path == "tools" ? "theirs" : path == "gates" ? "\"g\"" : "\"r\"";
    EXPECT_THAT(request("GET", fmt::format("/api/{}?project={}", path, other.string())), HasSubstr(name));
    EXPECT_THAT(request("GET", "/api/" + path), Not(HasSubstr(name)));
  }
  EXPECT_THAT(request("GET", "/api/config?project=" + other.string()), HasSubstr("tools.theirs.command"));
  EXPECT_THAT(request("GET", "/api/tools?project=nowhere"), HasSubstr("api.bad_request"));
}

TEST_F(ProjectConfig, trust_is_required_wherever_the_state_folder_is) {
  scratch().write("other/.reeve/config.yaml",
                  "tools: {t: {command: [/bin/sh, -c, 'echo \"[$FAVOURITE]\"'], pass_env: [FAVOURITE]}}\n"
                  "state: project\nsupervision: {max_parallel_runs: 3}\n");
  const fs::path other = scratch().path() / "other";
  const testing::Variables red = {{"FAVOURITE", "red"}};
  EXPECT_EQ(call(other, {"run", "--tool", "t"}, red).out, "[]\n");
  ASSERT_EQ(call(other, {"config", "trust", "--yes"}).code, 0);
  EXPECT_EQ(call(other, {"run", "--tool", "t"}, red).out, "[red]\n");
  EXPECT_THAT(call(other, {"config", "show", "--origin"}).out,
              HasSubstr("supervision.max_parallel_runs\t16\tdefault (ignored: 3 from .reeve/config.yaml:3)"))
      << "the daemon is not the project's own";
}

}  // namespace
}  // namespace reeve
