#include <filesystem>
#include <string>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"
#include "tests/support/session.h"

// `reeve hook install` and `uninstall` on settings files of agents.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

const std::string settled = "{\n    \"model\": \"opus\",\n    \"env\": {\"A\":  \"1\"}\n}\n";

class HookInstall : public ::testing::Test {
 protected:
  HookInstall() { fs::create_directories(home()); }

  fs::path home() const { return scratch_.path() / "home"; }
  testing::Launch launch(const std::vector<std::string>& words,
                         const std::vector<std::pair<std::string, std::string>>& more = {}) const {
    testing::Launch launch{.argv = {testing::reeve_binary(), "hook"}, .folder = scratch_.path()};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    launch.environment = {{"HOME", home().string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}, {"TERM", "xterm"}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    return launch;
  }
  Outcome hook(const std::vector<std::string>& words,
               const std::vector<std::pair<std::string, std::string>>& more = {}) const {
    return testing::run_program(launch(words, more));
  }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  static std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  testing::ScratchFolder scratch_;
};

TEST_F(HookInstall, each_agent_gets_its_entry_in_its_own_file) {
  for (const auto& [agent, file, event] :
       std::vector<std::array<std::string, 3>>{{"claude", ".claude/settings.json", "PreToolUse"},
                                               {"codex", ".codex/hooks.json", "PreToolUse"},
                                               {"gemini", ".gemini/settings.json", "BeforeTool"},
                                               {"qwen", ".qwen/settings.json", "PreToolUse"}}) {
    const Outcome outcome = hook({"install", agent, "--yes"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("+ "), HasSubstr("installed")));
    const std::string text = testing::read_text(home() / file);
    EXPECT_THAT(text, AllOf(HasSubstr('"' + event + '"'), HasSubstr("\"matcher\": \"*\""),
                            HasSubstr(testing::reeve_binary() + " hook " + agent)));
    EXPECT_EQ(mode_of(home() / file), 0600U);
    EXPECT_THAT(hook({"install", agent}).out, HasSubstr("already"));
    EXPECT_EQ(testing::read_text(home() / file), text);
    EXPECT_EQ(hook({"uninstall", agent, "--yes"}).code, 0);
    EXPECT_EQ(testing::read_text(home() / file), "{}\n");
    EXPECT_EQ(files_in((home() / file).parent_path()), 1U);
  }
  EXPECT_THAT(hook({"install", "codex", "--yes"}).err, HasSubstr("/hooks and trust it"));
}

TEST_F(HookInstall, the_rest_of_the_file_and_its_mode_stay) {
  const fs::path file = scratch_.write("home/.claude/settings.json", settled);
  ::chmod(file.c_str(), 0640);
  EXPECT_EQ(hook({"install", "claude", "--yes"}).code, 0);
  EXPECT_EQ(mode_of(file), 0640U);
  EXPECT_THAT(testing::read_text(file),
              HasSubstr("    \"env\": {\"A\":  \"1\"},\n    \"hooks\": {\n        \"PreTool"));
  EXPECT_EQ(hook({"uninstall", "claude", "--yes"}).code, 0);
  EXPECT_EQ(testing::read_text(file), settled);
  EXPECT_THAT(hook({"uninstall", "claude"}).out, HasSubstr("no hook of Reeve"));
}

TEST_F(HookInstall, nothing_is_written_without_a_yes) {
  const fs::path file = scratch_.write("home/.claude/settings.json", settled);
  EXPECT_EQ(hook({"install", "claude"}).code, 2);
  EXPECT_EQ(hook({"install", "claude", "--json"}).code, 2);
  testing::Session refusing(launch({"install", "claude"}), testing::Session::Ends::terminal);
  ASSERT_TRUE(refusing.wait_for("Write this? [y/N]"));
  EXPECT_THAT(refusing.out(), HasSubstr("hook claude"));
  refusing.type("n\n");
  EXPECT_NE(refusing.wait(), 0);
  EXPECT_EQ(testing::read_text(file), settled);
  testing::Session agreeing(launch({"install", "claude"}), testing::Session::Ends::terminal);
  ASSERT_TRUE(agreeing.wait_for("Write this? [y/N]"));
  agreeing.type("y\n");
  EXPECT_EQ(agreeing.wait(), 0);
  EXPECT_THAT(testing::read_text(file), HasSubstr("hook claude"));
}

// What a hostile repository could do with `--project`.
TEST_F(HookInstall, symlinks_and_odd_files_are_refused) {
  const fs::path outside = scratch_.write("outside/settings.json", settled);
  fs::create_directory_symlink(scratch_.path() / "outside", scratch_.path() / ".claude");
  Outcome outcome = hook({"install", "claude", "--project", "--yes"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("symlink"));
  fs::create_directory(scratch_.path() / ".gemini");
  fs::create_symlink(outside, scratch_.path() / ".gemini/settings.json");
  EXPECT_THAT(hook({"install", "gemini", "--project", "--yes"}).err, HasSubstr("symlink"));
  fs::create_directory(scratch_.path() / ".qwen");
  ASSERT_EQ(::mkfifo((scratch_.path() / ".qwen/settings.json").c_str(), 0600), 0);
  EXPECT_THAT(hook({"install", "qwen", "--project", "--yes"}).err, HasSubstr("not a regular file"));
  EXPECT_EQ(testing::read_text(outside), settled);
}

TEST_F(HookInstall, files_that_are_not_json_are_refused) {
  const fs::path file = scratch_.write("home/.claude/settings.json", "{ // mine\n}\n");
  for (const char* word : {"install", "uninstall"}) {
    const Outcome outcome = hook({word, "claude", "--yes"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("cannot be edited"), HasSubstr("line 1")));
  }
  EXPECT_EQ(testing::read_text(file), "{ // mine\n}\n");
}

TEST_F(HookInstall, project_and_the_agents_own_folder_are_honoured) {
  EXPECT_EQ(hook({"install", "claude", "--project", "--yes"}).code, 0);
  EXPECT_TRUE(fs::exists(scratch_.path() / ".claude/settings.json"));
  EXPECT_FALSE(fs::exists(home() / ".claude"));
  fs::create_directories(scratch_.path() / "own");
  EXPECT_EQ(hook({"install", "codex", "--yes"}, {{"CODEX_HOME", (scratch_.path() / "own").string()}}).code, 0);
  EXPECT_TRUE(fs::exists(scratch_.path() / "own/hooks.json"));
  EXPECT_EQ(hook({"install", "claude", "--project", "--user", "--yes"}).code, 2);
  EXPECT_EQ(hook({"install", "cline", "--yes"}).code, 2);
}

TEST_F(HookInstall, a_process_of_a_run_cannot_change_its_gate) {
  ASSERT_EQ(hook({"install", "claude", "--yes"}).code, 0);
  const std::string text = testing::read_text(home() / ".claude/settings.json");
  const Outcome outcome = hook({"uninstall", "claude", "--yes"}, {{"REEVE_RUN_ID", "TR-1"}});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("inside a run"));
  EXPECT_EQ(testing::read_text(home() / ".claude/settings.json"), text);
}

TEST_F(HookInstall, required_hook_stays_required) {
  const fs::path file = home() / ".claude/settings.json";
  ASSERT_EQ(hook({"install", "claude", "--require", "--yes"}).code, 0);
  const std::string text = testing::read_text(file);
  EXPECT_THAT(text, HasSubstr(" hook claude --require --give-up"));
  EXPECT_THAT(hook({"install", "claude", "--yes"}).out, HasSubstr("already"));
  EXPECT_EQ(testing::read_text(file), text);
  EXPECT_EQ(hook({"uninstall", "claude", "--require"}).code, 2);
  ASSERT_EQ(hook({"uninstall", "claude", "--yes"}).code, 0);
  ASSERT_EQ(hook({"install", "claude", "--yes"}).code, 0);
  EXPECT_THAT(testing::read_text(file), Not(HasSubstr("--require")));
}

TEST_F(HookInstall, json_names_the_file_and_whether_it_changed) {
  EXPECT_THAT(hook({"install", "claude", "--yes", "--json"}).out,
              AllOf(HasSubstr(R"("agent":"claude")"), HasSubstr(R"("changed":true)"), Not(HasSubstr("+ "))));
  EXPECT_THAT(hook({"install", "claude", "--yes", "--json"}).out, HasSubstr(R"("changed":false)"));
}

}  // namespace
}  // namespace reeve
