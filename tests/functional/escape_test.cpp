#include <csignal>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Ways to escape a run's process tree (the table is in SECURITY.md): an escaped process cannot decide (APR-11), and is
// killed with its run if it is known to belong to it (RUN-13).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using ::testing::HasSubstr;
using testing::is_alive;
using testing::Outcome;
using testing::Words;

// The question belongs to one daemon, the escaping run to another: the first sees a process that it did not start, and
// the second can be stopped so that it does not end the process at once.
class Escape : public testing::DaemonTest {
 protected:
  Escape() {
    // Without control groups, which would identify the process as well.
    become_ordinary();
    configure("tools:\n  staying: {command: [/bin/sh], keep_descendants: true}\n");
    EXPECT_EQ(reeve({"run", "--state", other(), "--detach", "--", "/bin/sh", "-c",
                     R"(echo '{"event":"approval_needed","question":"Go?"}'; exit 90)"})
                  .code,
              0);
    EXPECT_TRUE(eventually([&] { return question().contains("\"pending\""); }));
  }
  void TearDown() override {
    EXPECT_THAT(question(), HasSubstr("\"pending\""));
    EXPECT_EQ(reeve({"cancel", "--state", other(), "TR-1"}).code, 0);
    EXPECT_EQ(reeve({"stop", "--state", other()}).code, 0);
    DaemonTest::TearDown();
  }

  std::string other() const { return (project() / "other").string(); }
  std::string question() const { return reeve({"approvals", "--state", other(), "--all", "--json"}).out; }
  fs::path file(const std::string& name) const { return project() / name; }
  bool comes(const std::string& name) const {
    return eventually([&] { return fs::exists(file(name)); });
  }
  void release(const std::string& name) const { scratch().write("project/" + name, ""); }

  // A tool that starts a process outside its session, with an empty environment and no parent. Once the file `go`
  // exists, that process runs `act` ($tool and $keeper are pids), decides, records the exit code and keeps running.
  void start_runaway(const std::string& act, const Words& options = {}) const {
    scratch().write("project/runaway.sh", "cd " + project().string() +
                                              "; tool=$1; keeper=$2; echo $$ > pid.new; mv pid.new pid\n" +
                                              "while ! [ -e go ]; do sleep 0.02; done\n" + act + "\n" +
                                              testing::reeve_binary() + " approve --yes AP-1 --state " + other() +
                                              " > said 2>&1; echo $? > code.new; mv code.new code; exec sleep 1000\n");
    scratch().write("project/tool.sh",
                    "( setsid env -i PATH=/usr/bin:/bin sh " + file("runaway.sh").string() +
                        " $$ $PPID > /dev/null 2>&1 & )\nwhile ! [ -e pid ] || ! [ -e over ]; do sleep 0.02; done\n");
    Words words = {"run", "--detach"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    if (options.empty()) words.emplace_back("/bin/sh");
    words.emplace_back(file("tool.sh"));
    const Outcome started = reeve(words);
    ASSERT_EQ(started.code, 0) << started.err;
    ASSERT_TRUE(comes("pid"));
  }
  pid_t runaway() const {
    pid_t pid = 0;
    std::ifstream(file("pid")) >> pid;
    EXPECT_GT(pid, 0);
    return pid;
  }
  // The pid of a process of the daemon that owns the run.
  pid_t find_own(const std::string& role) const {
    for (const testing::FoundProcess& process : testing::find_processes(state().string())) {
      const bool is_guard = process.command.contains(" guard ");
      if (role == "guard" ? is_guard : process.command.contains(" serve ") && !is_guard) return process.pid;
    }
    return 0;
  }
  // Waits until the kernel reports another parent.
  static std::string wait_for_another_parent() {
    return R"sh(while [ "$(cut -d' ' -f4 /proc/$tool/stat)" = "$keeper" ]; do sleep 0.02; done)sh";
  }
  void expect_refused() const {
    ASSERT_TRUE(comes("code"));
    EXPECT_EQ(testing::read_text(file("code")), "5\n") << testing::read_text(file("said"));
    EXPECT_THAT(testing::read_text(file("said")), HasSubstr("approval.inside_run"));
  }
  void expect_killed() const {
    const pid_t pid = runaway();
    EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
  }
};

// setsid and a double fork: the keeper becomes the parent.
TEST_F(Escape, decision_of_a_daemonised_process_is_refused) {
  start_runaway("");
  release("go");
  expect_refused();
  release("over");
  expect_killed();
}

// The keeper is killed, and its daemon is stopped before it can end what is left.
TEST_F(Escape, decision_is_refused_after_killing_the_keeper) {
  start_runaway("kill -9 $keeper; " + wait_for_another_parent());
  const pid_t daemon = find_own("daemon");
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGSTOP), 0);
  release("go");
  expect_refused();
  EXPECT_TRUE(is_alive(runaway()));
  ASSERT_EQ(::kill(daemon, SIGCONT), 0);
  expect_killed();
}

// With no ancestor left to identify it, only the mark that it cannot remove shows its origin.
TEST_F(Escape, decision_is_refused_after_killing_keeper_daemon_and_guard) {
  start_runaway("while ! [ -e alone ]; do sleep 0.02; done; kill -9 $keeper; " + wait_for_another_parent());
  const pid_t daemon = find_own("daemon");
  const pid_t guard = find_own("guard");
  ASSERT_GT(daemon, 0);
  ASSERT_GT(guard, 0);
  ASSERT_EQ(::kill(guard, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !is_alive(guard); }));
  ASSERT_EQ(::kill(daemon, SIGKILL), 0);
  ASSERT_TRUE(eventually([&] { return !is_alive(daemon); }));
  release("alone");
  release("go");
  expect_refused();
  EXPECT_TRUE(is_alive(runaway()));
  // The next daemon ends it before it decides about the run.
  EXPECT_EQ(reeve({"runs"}).code, 0);
  expect_killed();
}

// The daemon has exited cleanly, and with it the guard that would have become the parent.
TEST_F(Escape, decision_is_refused_after_killing_the_keeper_without_a_daemon) {
  start_runaway("kill -9 $keeper; " + wait_for_another_parent());
  EXPECT_EQ(reeve({"stop"}).code, 0);
  ASSERT_TRUE(eventually([&] { return find_own("guard") == 0; }));
  release("go");
  expect_refused();
  EXPECT_EQ(reeve({"runs"}).code, 0);
  expect_killed();
}

// A lowered mark is still a mark, and the guard is still an ancestor.
TEST_F(Escape, decision_is_refused_with_a_lowered_mark) {
  start_runaway("prlimit --pid $$ --locks=7:7; kill -9 $keeper; " + wait_for_another_parent());
  const pid_t daemon = find_own("daemon");
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGSTOP), 0);
  release("go");
  expect_refused();
  ASSERT_EQ(::kill(daemon, SIGCONT), 0);
  expect_killed();
}

// Root can raise the limit, and a daemon that is limited itself cannot read the mark: then the guard above it
// identifies the process.
TEST_F(Escape, decision_is_refused_with_a_removed_mark) {
  EXPECT_EQ(reeve({"stop", "--state", other()}).code, 0);
  testing::Launch limited = launch({"approvals", "--state", other()});
  limited.argv.insert(limited.argv.begin(), {"/usr/bin/prlimit", "--locks=1000:1000"});
  EXPECT_EQ(testing::run_program(limited).code, 0);
  start_runaway("prlimit --pid $$ --locks=unlimited:unlimited; kill -9 $keeper; " + wait_for_another_parent());
  const pid_t daemon = find_own("daemon");
  ASSERT_GT(daemon, 0);
  ASSERT_EQ(::kill(daemon, SIGSTOP), 0);
  release("go");
  expect_refused();
  // A process that has removed every sign of its origin survives.
  ::kill(runaway(), SIGKILL);
  ASSERT_EQ(::kill(daemon, SIGCONT), 0);
}

// RUN-17: a process that a profile lets live stays an in-run caller, and is not mistaken for a leftover of another run.
TEST_F(Escape, decision_of_a_server_that_outlives_its_run_is_refused) {
  start_runaway("", {"--tool", "staying"});
  release("over");
  EXPECT_EQ(reeve({"wait", "TR-1"}).code, 0);
  EXPECT_EQ(reeve({"run", "--detach", "--", "sh", "-c", "echo $PPID > lost; exec sleep 1000"}).out, "TR-2\n");
  pid_t keeper = 0;
  EXPECT_TRUE(eventually([&] { return bool(std::ifstream(file("lost")) >> keeper); }));
  ASSERT_GT(keeper, 0);
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return reeve({"show", "TR-2", "--json"}).out.contains("interrupted after it began"); }));
  EXPECT_EQ(reeve({"cancel", "TR-2"}).code, 0);
  EXPECT_TRUE(is_alive(runaway()));
  release("go");
  expect_refused();
  ::kill(runaway(), SIGKILL);
}

// A tracer does not become the parent of the traced process, and tracing does not change the tracer's own parents.
TEST_F(Escape, decision_is_refused_after_tracing_another_run) {
  start_runaway("while ! [ -e traced ]; do sleep 0.02; done");
  // PTRACE_SEIZE; it fails where the kernel forbids tracing, which proves the same.
  const std::string trace = fmt::format(
      "import ctypes, os, time\nlibc = ctypes.CDLL(None)\nlibc.ptrace(0x4206, {0}, None, None)\n"
      "open('traced', 'w').close()\ntry:\n    while True:\n        status = os.waitpid({0}, 0x40000000)[1]\n"
      "        libc.ptrace(7, {0}, None, ctypes.c_long(os.WSTOPSIG(status)))\nexcept ChildProcessError:\n"
      "    time.sleep(1000)\n",
      runaway());
  EXPECT_EQ(reeve({"run", "--detach", "--", "python3", "-c", trace}).out, "TR-2\n");
  release("go");
  expect_refused();
  EXPECT_EQ(reeve({"cancel", "TR-2", "--kill"}).code, 0);
  release("over");
  expect_killed();
}

// A separate daemon would be a way to decide.
TEST_F(Escape, starting_another_daemon_is_refused) {
  const std::string third = (project() / "third").string();
  const Outcome outcome =
      reeve({"run", "--timeout", "20s", "--", "env", "-i", testing::reeve_binary(), "serve", "--state", third});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("daemon.inside_run"));
  EXPECT_FALSE(fs::exists(third));
}

}  // namespace
}  // namespace reeve
