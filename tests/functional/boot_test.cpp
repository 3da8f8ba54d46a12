#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// A pid alone is never trusted (RUN-13): another boot, and a pid that was reused. The kernel provides both in new
// namespaces; the program has no special case for them.
namespace reeve {
namespace {

using testing::Members;
using testing::Words;

class Boot : public testing::DaemonTest {
 protected:
  // A shell script in new namespaces, as root inside them, whoever runs the tests.
  testing::Outcome run_inside(const Words& unshare_options, const std::string& script) const {
    Words argv = {"/usr/bin/unshare"};
    if (::getuid() != 0) argv.insert(argv.end(), {"--user", "--map-root-user"});
    argv.insert(argv.end(), unshare_options.begin(), unshare_options.end());
    argv.insert(argv.end(), {"--", "/bin/sh", "-eu", "-c", script});
    testing::Launch wanted = launch({});
    wanted.argv = std::move(argv);
    return testing::run_program(wanted);
  }
  // Another boot id for everything that the script starts.
  std::string with_other_boot(const std::string& script) const {
    const std::filesystem::path id = scratch().write("boot_id", "11111111-2222-3333-4444-555555555555\n");
    return fmt::format("mount --bind {} /proc/sys/kernel/random/boot_id; {}", id.string(), script);
  }
  // Repeated, because the guard may have started another daemon in between.
  void kill_everything() const {
    ASSERT_TRUE(testing::eventually([&] {
      for (const testing::FoundProcess& process : processes()) ::kill(process.pid, SIGKILL);
      return processes().empty();
    }));
  }
  std::string reeve_command() const { return testing::reeve_binary(); }
};

// After a reboot a marker proves nothing about a running process: the run was interrupted, and a person is asked.
TEST_F(Boot, after_a_reboot_a_running_tool_counts_as_interrupted) {
  const std::string id = detach({}, {"silent", "1000"});
  ASSERT_TRUE(testing::eventually([&] { return !tools().empty(); }));
  kill_everything();
  const testing::Outcome outcome =
      run_inside({"--mount"}, with_other_boot(fmt::format("{0} show {1} --json; {0} stop", reeve_command(), id)));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find(R"("waiting_approval")"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("interrupted after it began"), std::string::npos) << outcome.out;
  EXPECT_EQ(reeve({"cancel", id}).code, 0);
}

// Records written before the reboot stay valid: the exit code and every line.
TEST_F(Boot, exit_record_is_valid_after_a_reboot) {
  const std::string file = (scratch().path() / "go").string();
  const Words options = {"run", "--detach",
                         "--",  "sh",
                         "-c",  fmt::format("{0} wait-file {1}; {0} lines 5; exit 9", testing::zoo_binary(), file)};
  const testing::Outcome started = reeve(options);
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "waiting");
  // The daemon and its guard die; the keeper lives until the tool ends.
  const auto kill_daemons = [&] {
    bool is_found = false;
    for (const testing::FoundProcess& process : processes()) {
      const bool is_daemon = process.command.find(" serve ") != std::string::npos;
      if (is_daemon) is_found = ::kill(process.pid, SIGKILL) == 0;
    }
    return !is_found;
  };
  ASSERT_TRUE(testing::eventually(kill_daemons));
  std::ofstream(file) << "x";
  ASSERT_TRUE(testing::eventually([&] { return processes().empty(); }));
  const testing::Outcome outcome = run_inside(
      {"--mount"}, with_other_boot(fmt::format("{0} wait TR-1 || true; {0} show TR-1 --json; {0} logs TR-1; {0} stop",
                                               reeve_command())));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("exit_code != 0 (9)"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("line 000005"), std::string::npos) << outcome.out;
}

// Unrelated processes get the pids of the keeper and the tool: neither is mistaken for them, and neither is killed.
TEST_F(Boot, reused_pid_is_not_taken_for_the_run) {
  const std::string script = fmt::format(R"(
{0} run --detach -- {1} silent 1000 >/dev/null
daemon=$(cat {2}/reeve.lock)
keeper=
while [ -z "$keeper" ]; do
  tool=$(pgrep -f '^{1} silent' | head -n 1) || true
  if [ -n "$tool" ]; then keeper=$(awk '{{print $4}}' /proc/$tool/stat); fi
done
guard=$(pgrep -f '^[^ ]*reeve-keeper guard' | head -n 1)
kill -9 $guard $daemon $keeper $tool
while [ -d /proc/$keeper ] && ! grep -q '^State:.Z' /proc/$keeper/status; do :; done
# Numbers are given in their order: the next process gets the one behind the last.
# Another process may come in between: then once more.
occupy() {{
  while [ -d /proc/$1 ]; do :; done
  for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 987 &
    if [ $! = "$1" ]; then return 0; fi
    kill $!
  done
  echo "number $1 was not to be had" >&2
  return 1
}}
occupy $keeper
occupy $tool
{0} show TR-1 --json
kill -0 $keeper
kill -0 $tool
echo strangers live
{0} stop
kill $keeper $tool
)",
                                         reeve_command(), testing::zoo_binary(), state().string());
  const testing::Outcome outcome = run_inside({"--pid", "--fork", "--mount-proc", "--kill-child"}, script);
  ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.out.find("interrupted after it began"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("strangers live"), std::string::npos) << outcome.out;
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
}

}  // namespace
}  // namespace reeve
