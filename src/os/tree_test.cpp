#include "os/tree.h"

#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "os/spawn.h"
#include "tests/support/files.h"

namespace reeve::os {
namespace {

using std::chrono::seconds;

// Runs in a child that is a subreaper and has no other descendants; its result decides the test.
void in_a_reaper(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    become_subreaper();
    ::_exit(act() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// Starts a script and waits until it has written that many bytes, one per process that is ready.
bool start(const std::string& script, int ready = 1) {
  Pipe told = make_pipe();
  const auto process =
      spawn({.argv = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}, .output = told.write.get()});
  told.write = Fd();
  char byte = 0;
  for (; process && ready > 0; --ready) {
    if (::read(told.read.get(), &byte, 1) != 1) return false;
  }
  return process.has_value();
}

// RUN-4: including children that left the process group or session.
TEST(Tree, no_descendant_escapes) {
  in_a_reaper([] {
    // A child, two in another session whose parent is gone, and one that ignores all signals that it can.
    const std::string script =
        "sh -c 'printf 1; exec sleep 1000' & (setsid sh -c 'sh -c \"printf 2; exec sleep 1001\" & printf 3; sleep "
        "1002' &) ;"
        "sh -c 'trap \"\" TERM HUP INT; printf 4; sleep 1003' & wait";
    if (!start(script, 4)) return false;
    const bool were_there = find_descendants(::getpid()).size() >= 5;
    const TreeEnd end = kill_descendants(seconds(20));
    return were_there && end.is_gone && end.ended.size() >= 5 && find_descendants(::getpid()).empty();
  });
}

TEST(Tree, fork_storm_is_ended) {
  in_a_reaper([] {
    if (!start("printf 1; f() { while :; do (sleep 0.01 &) ; done; }; f & f & wait")) return false;
    return kill_descendants(seconds(30)).is_gone && find_descendants(::getpid()).empty();
  });
}

// Never by name: an unrelated process with the same name keeps running.
TEST(Tree, unrelated_processes_survive) {
  auto stranger = spawn({.argv = {"/bin/sleep", "1000"}});
  ASSERT_TRUE(stranger);
  in_a_reaper([] { return start("printf 1; sleep 1000") && kill_descendants(seconds(20)).is_gone; });
  EXPECT_FALSE(stranger->try_wait());
  stranger->signal(SIGKILL);
  stranger->wait();
}

TEST(Tree, signal_reaches_every_descendant) {
  in_a_reaper([] {
    if (!start("sleep 1000 & sleep 1001 & printf 1; wait")) return false;
    const std::size_t reached = signal_descendants(::getpid(), 0);
    return reached == 3 && kill_descendants(seconds(20)).is_gone;
  });
}

// RUN-5: distinguishes a working tree from a silent one.
TEST(Tree, activity_is_measured) {
  in_a_reaper([] {
    if (!start("printf 1; exec sleep 1000")) return false;
    const TreeActivity idle_before = measure_activity(::getpid());
    const TreeActivity idle_after = measure_activity(::getpid());
    // By a child that ends, and by the shell itself.
    const std::string work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    if (!start("sh -c '" + work + "'; " + work + "; cat /dev/null; printf 1; sleep 1000")) return false;
    const TreeActivity busy = measure_activity(::getpid());
    kill_descendants(seconds(20));
    return idle_after.cpu - idle_before.cpu < std::chrono::milliseconds(50) &&
           busy.cpu - idle_after.cpu > std::chrono::milliseconds(20) && busy.io_bytes > idle_after.io_bytes;
  });
}

}  // namespace
}  // namespace reeve::os
