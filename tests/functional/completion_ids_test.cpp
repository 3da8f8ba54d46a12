#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"

// Completion of ids (UX): those of the daemon that is running, in time or not at all.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

class CompletionIds : public testing::ApprovalsTest {
 protected:
  CompletionIds() {
    for (const std::string shell : {"bash", "zsh", "fish"}) {
      scratch().write("project/" + shell, reeve({"completion", shell}).out);
    }
  }

  Outcome run_shell(const std::vector<std::string>& argv) const {
    testing::Launch launched = launch({});
    launched.argv = argv;
    const std::string bin = fs::path(testing::reeve_binary()).parent_path();
    for (auto& [name, value] : launched.environment) {
      if (name == "PATH") value = fmt::format("{}:{}", bin, value);
    }
    launched.environment.emplace_back("TERM", "dumb");
    return testing::run_program(launched);
  }

  // What bash offers after these words. On a busy machine a call may offer no ids, so `wanted` may take several.
  std::string bash(const std::string& words, const std::string& wanted = {}) const {
    Outcome outcome;
    for (int i = 0; i < 50; ++i) {
      outcome = run_shell({"bash", "--norc", "-c",
                           "source ./bash; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _reeve; printf '%s ' \"${COMPREPLY[@]}\""});
      EXPECT_EQ(outcome.err, "");
      if (outcome.out.contains(wanted)) break;
    }
    return outcome.out;
  }

  std::string fish(const std::string& line, const std::string& wanted) const {
    std::string offered;
    for (int i = 0; i < 50 && !offered.contains(wanted); ++i) {
      offered = run_shell({"fish", "--no-config", "-c", "source ./fish; complete -C '" + line + "'"}).out;
    }
    return offered;
  }

  // zsh completes only within its line editor. The expected text is split where it is typed, so that the terminal's
  // echo is not mistaken for the result.
  std::string zsh(const std::string& line, const std::string& wanted) const {
    scratch().write("project/probe", R"(
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; autoload -U compinit; compinit -u -D; source ./zsh; zstyle ":completion:*" list-prompt ""; stty -echo'
zpty -w shell 'compadd() { print -r -- "off""ers: $*" }; print re""ady'
while zpty -r shell line '*ready*' 2>/dev/null; do [[ $line == *ready* ]] && break; done
for i in {1..50}; do
  zpty -w -n shell "$1"$'\t'
  zpty -r shell line $'*offers: *\n*'
  print -r -- "$line"
  [[ $line == *$2* ]] && break
  zpty -w -n shell $'\x15'
done
zpty -d shell
)");
    return run_shell({"zsh", "-f", "./probe", line, wanted}).out;
  }
};

TEST_F(CompletionIds, bash_offers_what_waits_and_what_runs) {
  ASSERT_EQ(ask(), "AP-1");
  EXPECT_EQ(bash("reeve approve ''", "AP-1"), "AP-1 ");
  EXPECT_EQ(bash("reeve approve ap", "AP-1"), "AP-1 ") << "in any case";
  EXPECT_EQ(bash("reeve reject --comment no ''", "AP-1"), "AP-1 ");
  EXPECT_EQ(bash("reeve cancel T", "TR-1"), "TR-1 ");
  EXPECT_THAT(bash("reeve show ''", "TR-1"), AllOf(HasSubstr("AP-1"), HasSubstr("TR-1")));
  EXPECT_EQ(bash("reeve approve --state elsewhere ''"), " ") << "another daemon has other ids";
  EXPECT_EQ(bash("reeve token revoke ''"), " ");
  ASSERT_EQ(reeve({"approve", "AP-1", "--yes"}).code, 0);
  finish("TR-1");
  EXPECT_EQ(bash("reeve approve ''"), " ");
}

// UX: after `@`, all ids and the newest.
TEST_F(CompletionIds, bash_offers_all_after_at) {
  ask();
  EXPECT_EQ(bash("reeve approve @", "AP-1"), "AP-1 @last ");
  EXPECT_THAT(bash("reeve show @", "AP-1"), AllOf(HasSubstr("TR-1"), HasSubstr("@last")));
  EXPECT_EQ(bash("reeve cancel @l", "TR-1"), "TR-1 @last ");
  EXPECT_EQ(bash("reeve token revoke @"), " ");
  // The line editor splits a line as the variable says, so `@` must not be in it.
  EXPECT_EQ(run_shell({"bash", "--norc", "-c", "source ./bash; printf %s \"$COMP_WORDBREAKS\""}).out.find('@'),
            std::string::npos);
  EXPECT_THAT(reeve({"show", "@ap-1"}).out, HasSubstr("AP-1")) << "as fish completes it";
  EXPECT_EQ(reeve({"approve", "@AP-1", "--yes"}).code, 0);
}

TEST_F(CompletionIds, workflows_of_the_project_are_offered) {
  scratch().write("project/.reeve/workflows/release.yaml", "");
  scratch().write("project/.reeve/workflows/$(touch stolen).yaml", "");
  EXPECT_EQ(bash("reeve flow run r", "release"), "release ");
  EXPECT_EQ(bash("reeve flow validate rel", "release"), "release ");
  EXPECT_THAT(fish("reeve flow run r", "release"), HasSubstr("release\t.reeve/workflows/release.yaml\n"));
  EXPECT_THAT(zsh("reeve flow run r", "release"), HasSubstr("release"));
  EXPECT_FALSE(fs::exists(project() / "stolen"));
  EXPECT_FALSE(fs::exists(socket())) << "no daemon is needed";
}

TEST_F(CompletionIds, fish_and_zsh_offer_them_too) {
  ask();
  EXPECT_THAT(fish("reeve approve A", "AP-1"), HasSubstr("AP-1\tGo on?\n"));
  EXPECT_THAT(fish("reeve approve @", "AP-1"), AllOf(HasSubstr("@AP-1\tGo on?\n"), HasSubstr("@last\t")));
  EXPECT_THAT(fish("reeve approve A", "AP-1"), Not(HasSubstr("@")));
  EXPECT_THAT(zsh("reeve approve ap", "AP-1"), HasSubstr("-- AP-1"));
  EXPECT_THAT(zsh("reeve approve @", "AP-1"), HasSubstr("-- AP-1 @last"));
}

// A question is text from a tool.
TEST_F(CompletionIds, text_of_tools_is_never_executed) {
  ask(R"("question":"$(touch stolen) `touch stolen`\t\n\u001b]0;title\u0007; touch stolen")");
  const Outcome listed = reeve({"completion", "ids", "AP"});
  if (!listed.out.empty()) {
    EXPECT_EQ(testing::lines_of(listed.out).size(), 1U);
    EXPECT_EQ(testing::count_of(listed.out, "\t"), 1);
    EXPECT_THAT(listed.out, Not(HasSubstr("\x1b")));
  }
  EXPECT_EQ(bash("reeve approve ''", "AP-1"), "AP-1 ");
  run_shell({"fish", "--no-config", "-c", "source ./fish; complete -C 'reeve approve '"});
  EXPECT_FALSE(fs::exists(project() / "stolen"));
}

TEST_F(CompletionIds, starts_no_daemon) {
  const Outcome outcome = reeve({"completion", "ids", "AP", "TR", "EX", "PA"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_FALSE(fs::exists(socket()));
}

// A prompt must not hang because the daemon does.
TEST_F(CompletionIds, does_not_wait_for_a_daemon_that_does_not_answer) {
  ask();
  pid_t daemon = 0;
  for (const testing::FoundProcess& process : processes()) {
    if (process.command.contains("serve")) daemon = process.pid;
  }
  ASSERT_NE(daemon, 0);
  ::kill(daemon, SIGSTOP);
  // 40 ms and the start of the program; the quickest of several, because this machine may be busy.
#ifdef REEVE_SANITIZED
  constexpr auto limit = std::chrono::milliseconds(1500);
#else
  constexpr auto limit = std::chrono::milliseconds(200);
#endif
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 20 && quickest >= limit; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Outcome outcome = reeve({"completion", "ids", "AP", "TR"});
    quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out + outcome.err, "");
  }
  ::kill(daemon, SIGCONT);
  EXPECT_LT(quickest, limit);
}

}  // namespace
}  // namespace reeve
