#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// The environment of a tool: its variables, folder, input and terminal.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::lines_of;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;
using testing::Variables;
using testing::Words;

class RunEnvironment : public testing::DaemonTest {
 protected:
  void configure_zoo(const std::string& more) const {
    configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + "]" + more + "}\n");
  }
  // The output of `env` inside a run, line by line.
  std::vector<std::string> environment_of(const Words& options, const Variables& caller) const {
    const Outcome outcome = reeve(run_words(options, {"env"}), caller);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return lines_of(outcome.out);
  }
};

// A caller's environment with variables of every kind.
const Variables caller = {
    {"USER", "ana"},          {"LC_TIME", "C"},         {"TZ", "UTC"},
    {"TERM", "dumb"},         {"XDG_DATA_HOME", "/x"},  {"TMPDIR", "/tmp"},
    {"FAVOURITE", "blue"},    {"EDITOR", "vi"},         {"LD_DEBUG_NOT", "1"},
    {"GIT_AUTHOR_NAME", "a"}, {"PYTHONPATH", "/p"},     {"NODE_OPTIONS", "--x"},
    {"BASH_ENV", "/b"},       {"REEVE_TOKEN", "hush"},  {"REEVE_STORE", "sqlite"},
    {"REEVE_SECRET", "hush"}, {"REEVE_ATTEMPT", "999"}, {"REEVE_EXECUTION_ID", "EX-999"},
};

// RUN-8
TEST_F(RunEnvironment, plain_command_inherits_the_callers_environment) {
  const auto seen = environment_of({}, caller);
  for (const char* entry : {"USER=ana", "FAVOURITE=blue", "EDITOR=vi", "GIT_AUTHOR_NAME=a", "PYTHONPATH=/p",
                            "HEADLESS=1", "CI=1", "REEVE_RUN_ID=TR-1", "REEVE_ATTEMPT=1"}) {
    EXPECT_THAT(seen, Contains(entry));
  }
  EXPECT_THAT(seen, Contains(StartsWith("REEVE_OUTPUT=" + state().string() + "/runs/TR-1/")));
}

// RUN-8: Reeve's own tokens, sockets and database address reach no child.
TEST_F(RunEnvironment, reeve_variables_are_not_passed_on) {
  for (const Words& options : {Words{}, Words{"--clean-env"}}) {
    const auto seen = environment_of(options, caller);
    for (const char* name :
         {"REEVE_STATE=", "REEVE_TOKEN=", "REEVE_STORE=", "REEVE_SECRET=", "REEVE_EXECUTION_ID=", "REEVE_NODE_ID="}) {
      EXPECT_THAT(seen, Not(Contains(StartsWith(name))));
    }
    EXPECT_THAT(seen, Not(Contains("REEVE_ATTEMPT=999")));
  }
}

// RUN-8
TEST_F(RunEnvironment, tool_gets_only_the_allow_list) {
  configure_zoo("");
  for (const Words& options : {Words{"--tool", "zoo"}, Words{"--clean-env"}}) {
    const auto seen = environment_of(options, caller);
    for (const char* entry : {"USER=ana", "LC_TIME=C", "TZ=UTC", "TERM=dumb", "XDG_DATA_HOME=/x", "TMPDIR=/tmp",
                              "LANG=C.UTF-8", "PATH=/usr/bin:/bin", "HEADLESS=1", "CI=1"}) {
      EXPECT_THAT(seen, Contains(entry));
    }
    for (const char* name : {"FAVOURITE=", "EDITOR=", "GIT_", "PYTHON", "NODE_OPTIONS=", "BASH_ENV=", "LD_"}) {
      EXPECT_THAT(seen, Not(Contains(StartsWith(name))));
    }
  }
}

// RUN-8
TEST_F(RunEnvironment, profile_can_pass_and_set_variables) {
  configure_zoo(", pass_env: [FAVOURITE, ABSENT], env: {MODE: quiet, USER: bot}");
  const auto seen = environment_of({"--tool", "zoo"}, caller);
  EXPECT_THAT(seen, Contains("FAVOURITE=blue"));
  EXPECT_THAT(seen, Contains("MODE=quiet"));
  EXPECT_THAT(seen, Contains("USER=bot"));
  EXPECT_THAT(seen, Not(Contains("USER=ana")));
  EXPECT_THAT(seen, Not(Contains(StartsWith("ABSENT="))));
  EXPECT_THAT(seen, Not(Contains(StartsWith("EDITOR="))));
}

// RUN-8: variables that make other programs load code come only from the user's config, not from a project's.
TEST_F(RunEnvironment, project_cannot_pass_variables_that_load_code) {
  for (const char* name : {"LD_PRELOAD", "NODE_OPTIONS", "GIT_SSH_COMMAND", "PYTHONPATH", "BASH_ENV", "PERL5OPT"}) {
    for (const std::string& more :
         {std::string(", pass_env: [") + name + "]", std::string(", env: {") + name + ": x}"}) {
      configure_zoo(more);
      const Outcome outcome = reeve(run_words({"--tool", "zoo"}, {"env"}), {{name, "x"}});
      const bool is_kept_out = outcome.code != 0 || !outcome.out.contains(std::string(name) + "=");
      EXPECT_TRUE(is_kept_out) << more << "\n" << outcome.out;
    }
  }
}

// RUN-8
TEST_F(RunEnvironment, env_option_overrides_everything_but_reeves_own) {
  const auto seen = environment_of({"--env", "FAVOURITE=red", "--env", "EMPTY=", "--env", "SUM=1+1=2", "--env",
                                    "FAVOURITE=green", "--env", "REEVE_RUN_ID=TR-999", "--env", "CI=0"},
                                   caller);
  EXPECT_THAT(seen, Contains("FAVOURITE=green"));
  EXPECT_THAT(seen, Contains("EMPTY="));
  EXPECT_THAT(seen, Contains("SUM=1+1=2"));
  EXPECT_THAT(seen, Contains("REEVE_RUN_ID=TR-1"));
  EXPECT_THAT(seen, Not(Contains("REEVE_RUN_ID=TR-999")));
  EXPECT_EQ(std::ranges::count_if(seen, [](const auto& line) { return line.starts_with("FAVOURITE="); }), 1);
}

TEST_F(RunEnvironment, run_starts_in_the_given_folder) {
  fs::create_directories(project() / "deep/down");
  EXPECT_EQ(run({}, {"cwd"}).out, project().string() + "\n");
  EXPECT_EQ(run({"--cwd", "deep/down"}, {"cwd"}).out, (project() / "deep/down").string() + "\n");
  EXPECT_EQ(run({"--cwd", "deep/../deep/./down/.."}, {"cwd"}).out, (project() / "deep").string() + "\n");
  EXPECT_EQ(run({"--cwd", "/"}, {"cwd"}).out, "/\n");
  EXPECT_EQ(show("@last")["cwd"], "/");
}

TEST_F(RunEnvironment, arguments_are_passed_verbatim) {
  const Words words = {"args", "", "two words", "--tool", "$HOME", "*", "a\nb", "é\"'\\", "--"};
  EXPECT_EQ(run({}, words).out, "\ntwo words\n--tool\n$HOME\n*\na\nb\né\"'\\\n--\n");
}

// §7: the arguments after `--` are appended to the profile's command.
TEST_F(RunEnvironment, arguments_are_appended_to_the_tools_command) {
  configure("tools:\n  zoo: {command: [" + testing::zoo_binary() + ", args, first]}\n");
  EXPECT_EQ(reeve({"run", "--tool", "zoo", "--", "second", "third"}).out, "first\nsecond\nthird\n");
  EXPECT_EQ(show("@last")["tool_name"], "zoo");
}

// §7: a tool whose command has no {prompt} gets it on stdin.
TEST_F(RunEnvironment, prompt_fills_its_placeholder_or_stdin) {
  const std::string prompt = "Fix {prompt} \"it\"\nand é";
  configure("tools:\n  reads: {command: [" + testing::zoo_binary() + ", read-stdin]}\n  takes: {command: [" +
            testing::zoo_binary() + ", args, \"-p={prompt}\", \"{prompt}\"]}\n");
  EXPECT_EQ(reeve({"run", "--tool", "reads", "--prompt", prompt}).out,
            "stdin: " + std::to_string(prompt.size()) + " bytes\n" + prompt);
  EXPECT_EQ(reeve({"run", "--tool", "takes", "--prompt", prompt}).out, "-p=" + prompt + "\n" + prompt + "\n");
  EXPECT_EQ(run({"--prompt", "hello"}, {"read-stdin"}).out, "stdin: 5 bytes\nhello");
  // A prompt file is removed at the end of its run.
  EXPECT_FALSE(fs::exists(state() / "runs/TR-1/prompt"));
  EXPECT_FALSE(fs::exists(state() / "runs/TR-1/launch"));
}

// RUN-9
TEST_F(RunEnvironment, pipe_mode_has_empty_stdin) {
  EXPECT_EQ(run({}, {"read-stdin"}).out, "stdin: 0 bytes\n");
  EXPECT_EQ(reeve({"run", "--", "readlink", "/proc/self/fd/0"}).out, "/dev/null\n");
  EXPECT_EQ(run({}, {"ask-line"}).code, 1) << "RUN-10: in pipe mode EOF is what it reads";
  // Standard input of a terminal or of /dev/null is not passed on; a pipe is, unless the option says otherwise.
  testing::Launch piped = launch(run_words({"--stdin", "none"}, {"read-stdin"}));
  piped.input = "mine";
  EXPECT_EQ(testing::run_program(piped).out, "stdin: 0 bytes\n");
}

// RUN-9
TEST_F(RunEnvironment, pty_option_gives_a_real_terminal) {
  const Outcome outcome = reeve(
      {"run", "--pty", "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && tty && stty size && echo $TERM"});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, StartsWith("/dev/pts/"));
  EXPECT_THAT(outcome.out, HasSubstr("24 80\r\n"));
  EXPECT_THAT(outcome.out, HasSubstr("xterm-256color\r\n"));
  // The caller's TERM is used if it is set.
  EXPECT_THAT(reeve({"run", "--pty", "--", "sh", "-c", "echo $TERM"}, {{"TERM", "vt100"}}).out, HasSubstr("vt100"));
}

// RUN-9: the profile's mode applies without an option.
TEST_F(RunEnvironment, profile_can_request_a_terminal) {
  configure("tools:\n  tty: {command: [tty], mode: pty}\n");
  EXPECT_THAT(reeve({"run", "--tool", "tty"}).out, StartsWith("/dev/pts/"));
}

// RUN-8: no descriptor of the daemon or the keeper is open in a tool.
TEST_F(RunEnvironment, a_tool_inherits_no_descriptors) {
  const Outcome outcome = reeve({"run", "--", "sh", "-c", "ls /proc/self/fd | wc -w"});
  // Its three, and the one that `ls` uses to read the folder.
  EXPECT_EQ(outcome.out, "4\n");
}

}  // namespace
}  // namespace reeve
