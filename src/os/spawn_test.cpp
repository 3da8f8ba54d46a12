#include "os/spawn.h"

#include <cerrno>
#include <csignal>
#include <poll.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::os {
namespace {

using Stage = SpawnFailure::Stage;

// Reads until the end; a terminal ends with EIO.
std::string read_all(int fd) {
  std::string all;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return all;
    all.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string run(SpawnPlan plan) {
  Pipe pipe = make_pipe();
  plan.output = pipe.write.get();
  plan.error = pipe.write.get();
  auto process = spawn(plan);
  EXPECT_TRUE(process);
  pipe.write = Fd();
  const std::string all = read_all(pipe.read.get());
  process->wait();
  return all;
}

TEST(Spawn, reports_exit_code_and_signal) {
  const auto status = [](const std::string& script) { return spawn({.argv = {"/bin/sh", "-c", script}})->wait(); };
  EXPECT_EQ(status("exit 0"), (ExitStatus{0, {}}));
  EXPECT_EQ(status("exit 90"), (ExitStatus{90, {}}));
  EXPECT_EQ(status("kill -9 $$"), (ExitStatus{{}, SIGKILL}));
}

// Distinguishes the cases of SPEC §7's exit codes 126 and 127.
TEST(Spawn, failure_names_errno_and_stage) {
  const testing::ScratchFolder scratch;
  const auto plain = scratch.write("plain", "not a program");
  const auto script = scratch.write("script", "#!/no/such/interpreter\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto failure = [&](const SpawnPlan& plan) { return spawn(plan).error(); };
  EXPECT_EQ(failure({.argv = {"no-such-program"}}).error_number, ENOENT);
  EXPECT_EQ(failure({.argv = {"no-such-program"}}).stage, Stage::lookup);
  EXPECT_EQ(failure({.argv = {"plain"}, .environment = {"PATH=" + scratch.path().string()}}).error_number, EACCES);
  EXPECT_EQ(failure({.argv = {plain.string()}}).error_number, EACCES);
  EXPECT_EQ(failure({.argv = {script.string()}}).error_number, ENOENT);
  EXPECT_EQ(failure({.argv = {"/bin/true"}, .folder = "/no/such/folder"}).stage, Stage::folder);
  EXPECT_EQ(failure({.argv = {"/bin/true"}, .folder = plain}).error_number, ENOTDIR);
  EXPECT_EQ(failure({.argv = {"/bin/true", std::string(4'000'000, 'x')}}).error_number, E2BIG);
}

TEST(Spawn, child_gets_exactly_the_planned_environment_and_descriptors) {
  EXPECT_EQ(run({.argv = {"/usr/bin/env"}, .environment = {"A=1", "B=two words"}}), "A=1\nB=two words\n");
  EXPECT_EQ(run({.argv = {"/bin/pwd"}, .folder = "/usr"}), "/usr\n");
  EXPECT_EQ(run({.argv = {"/bin/cat"}}), "") << "standard input is /dev/null";
  // Nothing is inherited: only the three standard descriptors, and the one that `ls` opens itself.
  const Pipe open_here = make_pipe();
  const Fd without_mark(::dup(open_here.read.get()));
  EXPECT_EQ(run({.argv = {"/bin/ls", "/proc/self/fd"}}), "0\n1\n2\n3\n");
  // Ignored signals are not inherited either.
  ::signal(SIGPIPE, SIG_IGN);
  const std::string ignored = run({.argv = {"/bin/grep", "SigIgn", "/proc/self/status"}});
  EXPECT_EQ(std::stoull(ignored.substr(ignored.find('\t')), nullptr, 16) & (1U << (SIGPIPE - 1)), 0) << ignored;
  ::signal(SIGPIPE, SIG_DFL);
}

TEST(Spawn, child_leads_its_own_session) {
  auto process = spawn({.argv = {"/bin/sleep", "100"}});
  ASSERT_TRUE(process);
  EXPECT_EQ(::getsid(process->pid()), process->pid());
  EXPECT_FALSE(process->try_wait());
  EXPECT_TRUE(process->signal(SIGTERM));
  pollfd ended{process->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 20'000), 1) << "its descriptor reports the end";
  EXPECT_EQ(process->try_wait(), (ExitStatus{{}, SIGTERM}));
  EXPECT_EQ(process->wait(), (ExitStatus{{}, SIGTERM})) << "repeated";
  EXPECT_FALSE(process->signal(SIGTERM)) << "the process is gone";
}

// Its parent has no time to end it.
TEST(Spawn, child_can_die_with_its_parent) {
  Pipe pipe = make_pipe();
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto child = spawn({.argv = {"/bin/sleep", "100"}, .output = pipe.write.get(), .dies_with_parent = true});
    const pid_t pid = child ? child->pid() : 0;
    ::_exit(::write(pipe.write.get(), &pid, sizeof pid) == sizeof pid ? 0 : 1);
  }
  pipe.write = Fd();
  pid_t child = 0;
  ASSERT_EQ(::read(pipe.read.get(), &child, sizeof child), sizeof child);
  Process(parent).wait();
  EXPECT_NE(child, 0);
  pollfd end{pipe.read.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&end, 1, 20'000), 1) << "the child still has its output open";
}

TEST(Spawn, child_that_dies_with_its_parent_is_started_like_others) {
  EXPECT_EQ(run({.argv = {"env"}, .environment = {"PATH=/usr/bin", "A=1"}, .dies_with_parent = true}),
            "PATH=/usr/bin\nA=1\n");
  EXPECT_EQ(spawn({.argv = {"/bin/sh", "-c", "exit 7"}, .dies_with_parent = true})->wait(), (ExitStatus{7, {}}));
  EXPECT_EQ(spawn({.argv = {"no-such-program"}, .dies_with_parent = true}).error().error_number, ENOENT);
}

// RUN-9: a real terminal with a size.
TEST(Spawn, child_gets_a_real_controlling_terminal) {
  const Pty pty(40, 123);
  auto process = spawn({.argv = {"/bin/sh", "-c", "tty -s && stty size </dev/tty"},
                        .environment = {"PATH=/usr/bin:/bin"},
                        .terminal = pty.slave()});
  ASSERT_TRUE(process);
  EXPECT_EQ(read_all(pty.master().get()), "40 123\r\n");
  EXPECT_EQ(process->wait(), (ExitStatus{0, {}}));
}

// RUN-13: a pid alone is never trusted.
TEST(Process, is_identified_by_pid_and_start_time) {
  auto first = spawn({.argv = {"/bin/sleep", "100"}});
  ASSERT_TRUE(first);
  const auto id = identify(first->pid());
  ASSERT_TRUE(id);
  EXPECT_EQ(identify(first->pid()), id) << "unchanged while it runs";
  EXPECT_GT(id->started, 0);
  EXPECT_NE(identify(::getpid())->started, 0);
  first->signal(SIGKILL);
  first->wait();
  EXPECT_NE(identify(first->pid()), id);
  EXPECT_FALSE(identify(0));
  EXPECT_EQ(boot_id().size(), 36);
  EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace
}  // namespace reeve::os
