#include "tests/support/program.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/reports.h"

namespace reeve::testing {

namespace {

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read = ends[0];
    write = ends[1];
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_read() { close_end(read); }
  void close_write() { close_end(write); }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

// Writes the program's input and reads its outputs until it has closed both.
void exchange(const Launch& launch, Pipe& in, Pipe& out, Pipe& err, Outcome& outcome) {
  std::size_t written = 0;
  while (out.read >= 0 || err.read >= 0) {
    std::array<pollfd, 3> ends = {{{in.write, POLLOUT, 0}, {out.read, POLLIN, 0}, {err.read, POLLIN, 0}}};
    ASSERT_GE(::poll(ends.data(), ends.size(), -1), 0);
    if (ends[0].revents != 0) {
      const ssize_t count = ::write(in.write, launch.input.data() + written, launch.input.size() - written);
      if (count > 0) written += static_cast<std::size_t>(count);
      if (count < 0 || written == launch.input.size()) in.close_write();
    }
    const auto drain = [](pollfd& end, Pipe& pipe, std::string& text) {
      if (end.revents == 0) return;
      std::array<char, 65536> buffer{};
      const ssize_t count = ::read(pipe.read, buffer.data(), buffer.size());
      if (count > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
      } else {
        pipe.close_read();
      }
    };
    drain(ends[1], out, outcome.out);
    drain(ends[2], err, outcome.err);
  }
}

}  // namespace

Outcome run_program(const Launch& launch) {
  // A program that does not read its input must not end the tests.
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe err;
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, launch.folder.c_str());
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  if (launch.out_file.empty()) {
    posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, launch.out_file.c_str(), O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> settings = settings_of(launch);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = launch.argv;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  Outcome outcome;
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  EXPECT_EQ(error, 0) << "cannot start " << launch.argv[0];
  if (error != 0) return outcome;
  in.close_read();
  out.close_write();
  err.close_write();
  if (launch.input.empty()) in.close_write();
  exchange(launch, in, out, err, outcome);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string reeve_binary() { return REEVE_BINARY; }

}  // namespace reeve::testing
