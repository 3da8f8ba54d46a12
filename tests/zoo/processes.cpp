#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/zoo/mode.h"

// How a tool may live, multiply and die.
namespace reeve::zoo {

namespace {

pid_t fork_or_fail() {
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  return child;
}

int silent(const Words& words) {
  pause_ms(number_at(words, 0) * 1000);
  return 0;
}

int busy(const Words& words) {
  const double end = seconds_now() + static_cast<double>(number_at(words, 0));
  while (seconds_now() < end) {
  }
  return 0;
}

int hang(const Words&) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::signal(number, SIG_IGN);
  say("ready");
  sleep_for_ever();
}

int stop_self(const Words&) {
  say("ready");
  ::raise(SIGSTOP);
  say("resumed");
  return 0;
}

int double_fork(const Words& words) {
  const std::string file = word_at(words, 0);
  std::array<int, 2> written{};
  if (::pipe(written.data()) != 0) fail("pipe");
  if (const pid_t child = fork_or_fail(); child > 0) {
    ::close(written[1]);
    ::waitpid(child, nullptr, 0);
    // End of file means that the pid is in the file: the supervisor may end the grandchild as soon as this process
    // exits.
    char byte = 0;
    while (::read(written[0], &byte, 1) < 0 && errno == EINTR) {
    }
    say(std::to_string(::getpid()));
    return 0;
  }
  ::setsid();
  if (fork_or_fail() > 0) std::_Exit(0);
  write_file(file, std::to_string(::getpid()) + "\n");
  ::close(written[0]);
  ::close(written[1]);
  sleep_for_ever();
}

// A chain of processes: each exits as soon as it has a child, so that killing by a list of pids is too late. Every
// second one starts a new session.
[[noreturn]] void descend(double end) {
  for (unsigned generation = 0; seconds_now() < end; ++generation) {
    const pid_t child = ::fork();
    if (child > 0) std::_Exit(0);
    if (child == 0 && generation % 2 == 0) ::setsid();
    pause_ms(1);
  }
  std::_Exit(0);
}

int fork_storm(const Words& words) {
  const double end = seconds_now() + static_cast<double>(number_at(words, 1));
  // Each chain has two processes alive during a handover; this process is one more.
  const std::int64_t descents = (number_at(words, 0) - 1) / 2;
  for (std::int64_t i = 0; i < descents; ++i) {
    if (fork_or_fail() == 0) descend(end);
  }
  say("ready");
  while (seconds_now() < end) {
    pause_ms(10);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  return 0;
}

int hold_pipe(const Words& words) {
  const std::int64_t seconds = number_at(words, 0);
  if (fork_or_fail() > 0) return 0;
  pause_ms(seconds * 1000);
  return 0;
}

int spawn_children(const Words& words) {
  std::string pids;
  const std::string file = word_at(words, 1);
  for (std::int64_t i = 0; i < number_at(words, 0); ++i) {
    const pid_t child = fork_or_fail();
    if (child == 0) {
      ::setsid();
      sleep_for_ever();
    }
    pids += std::to_string(child) + "\n";
  }
  write_file(file, pids);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return 0;
}

int exit_with(const Words& words) { return static_cast<int>(number_at(words, 0)); }

int signal_self(const Words& words) {
  const auto number = static_cast<int>(number_at(words, 0));
  ::signal(number, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::raise(number);
  return 1;
}

int memory(const Words& words) {
  const std::size_t bytes = static_cast<std::size_t>(number_at(words, 0)) << 20U;
  void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) fail("mmap");
  // Volatile: the writes are the point.
  for (std::size_t i = 0; i < bytes; i += 4096) static_cast<volatile char*>(place)[i] = 1;
  say("touched " + words[0] + " MiB");
  sleep_for_ever();
}

int wait_file(const Words& words) {
  const std::string& file = word_at(words, 0);
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : file.substr(0, slash);
  const int watch = ::inotify_init1(IN_CLOEXEC);
  if (watch < 0 || ::inotify_add_watch(watch, folder.c_str(), IN_CREATE | IN_MOVED_TO) < 0) fail("inotify " + folder);
  say("waiting");
  std::array<char, 4096> changes{};
  while (::access(file.c_str(), F_OK) != 0) {
    if (::read(watch, changes.data(), changes.size()) < 0 && errno != EINTR) fail("inotify");
  }
  say("go");
  return 0;
}

constexpr std::array modes = {
    Mode{"silent", "SECONDS", "sleeps, then exit 0", silent},
    Mode{"busy", "SECONDS", "says nothing and burns a processor, then exit 0", busy},
    Mode{"hang", "", "says `ready`, ignores TERM, INT and HUP, and stays", hang},
    Mode{"stop-self", "", "says `ready`, stops itself; continued it says `resumed`; exit 0", stop_self},
    Mode{"double-fork", "FILE",
         "leaves a grandchild in a session of its own that stays, its pid in FILE; says its own "
         "pid; exit 0",
         double_fork},
    Mode{"fork-storm", "N SECONDS",
         "says `ready`; at most N processes at once, each replaced by its child about every millisecond; exit 0",
         fork_storm},
    Mode{"hold-pipe", "SECONDS", "exit 0 at once; a child holds stdout open for that time", hold_pipe},
    Mode{"spawn-children", "N FILE",
         "N children in sessions of their own that stay, pids in FILE; waits for them; exit "
         "0",
         spawn_children},
    Mode{"exit", "CODE", "exits", exit_with},
    Mode{"signal", "NUMBER", "ends itself by that signal", signal_self},
    Mode{"memory", "MIB", "takes and touches that much, says so and stays", memory},
    Mode{"wait-file", "FILE", "says `waiting`; when the file is there `go`; exit 0", wait_file},
};

}  // namespace

std::span<const Mode> process_modes() { return modes; }

}  // namespace reeve::zoo
