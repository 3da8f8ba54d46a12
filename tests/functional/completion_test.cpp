#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"

// The completions as the shells themselves use them.
namespace reeve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::ScratchFolder;

class Completion : public ::testing::Test {
 protected:
  Completion() {
    for (const std::string shell : {"bash", "zsh", "fish"}) {
      const Outcome outcome = testing::run_program({.argv = {testing::reeve_binary(), "completion", shell}});
      EXPECT_EQ(outcome.code, 0);
      scratch_.write(shell, outcome.out);
    }
    scratch_.write("flow.yaml", "");
  }

  std::string run_shell(const std::vector<std::string>& argv) {
    const Outcome outcome = testing::run_program(
        {.argv = argv,
         .folder = scratch_.path(),
         .environment = {{"HOME", scratch_.path().string()}, {"PATH", "/usr/bin:/bin"}, {"TERM", "dumb"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }

  // The completions that bash offers after these words.
  std::string bash(const std::string& words) {
    return run_shell({"bash", "--norc", "-c",
                      "source ./bash; COMP_WORDS=(" + words +
                          "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _reeve; printf '%s ' \"${COMPREPLY[@]}\""});
  }

  std::string fish(const std::string& line) {
    return run_shell({"fish", "--no-config", "-c", "source ./fish; complete -C '" + line + "'"});
  }

  ScratchFolder scratch_;
};

TEST_F(Completion, bash_completes_words) {
  EXPECT_EQ(bash("reeve f"), "flow ");
  EXPECT_EQ(bash("reeve flow ''"), "run list show cancel retry diff apply validate graph schema ");
  EXPECT_EQ(bash("reeve flow graph --for"), "--format ");
  EXPECT_EQ(bash("reeve approvals ''"), "list approve reject deny wait ");
  EXPECT_EQ(bash("reeve approvals --st"), "--status --state ");
  EXPECT_EQ(bash("reeve approvals --status e"), "expired ");
  EXPECT_EQ(bash("reeve approvals wait --ti"), "--timeout ");
  EXPECT_EQ(bash("reeve flow graph --format m"), "mermaid ");
  EXPECT_EQ(bash("reeve --json flow v"), "validate ");
  EXPECT_EQ(bash("reeve flow graph fl"), "flow.yaml ");
  EXPECT_EQ(bash("reeve completion ''"), "bash zsh fish ");
  EXPECT_EQ(bash("reeve nonsense ''").find("validate"), std::string::npos);
}

TEST_F(Completion, fish_completes_words) {
  EXPECT_THAT(fish("reeve f"), HasSubstr("flow"));
  EXPECT_THAT(fish("reeve flow "), HasSubstr("validate\tCheck a workflow file"));
  EXPECT_THAT(fish("reeve flow "), Not(HasSubstr("init")));
  EXPECT_THAT(fish("reeve flow graph --for"), HasSubstr("--format"));
  EXPECT_THAT(fish("reeve approvals "), HasSubstr("wait\tWait for a question to be answered"));
  EXPECT_THAT(fish("reeve approvals --"), HasSubstr("--all"));
  EXPECT_THAT(fish("reeve flow graph --format m"), HasSubstr("mermaid"));
  EXPECT_THAT(fish("reeve completion "), HasSubstr("zsh"));
}

// zsh completes only within its line editor, so a pseudo-terminal drives it. The expected text is split where it is
// typed, so that the terminal's echo is not mistaken for the result.
TEST_F(Completion, zsh_completes_words) {
  EXPECT_EQ(run_shell({"zsh", "-f", "-n", "zsh"}), "") << "it is well formed";
  scratch_.write("probe", R"(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source ./zsh; zstyle ":completion:*" list-prompt ""; stty -echo'
zpty -w shell 'compadd() { print -r -- "off""ers: $*" }; print re""ady'
while zpty -r shell line '*ready*' 2>/dev/null; do [[ $line == *ready* ]] && break; done
zpty -w -n shell $'reeve flow \t'
zpty -r shell line $'*offers: *\n*' && print -r -- "$line"
zpty -d shell
)");
  EXPECT_THAT(run_shell({"zsh", "-f", "./probe"}),
              HasSubstr("offers: -- run list show cancel retry diff apply validate graph schema"));
}

}  // namespace
}  // namespace reeve
