#include "tests/support/session.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/reports.h"

namespace reeve::testing {

namespace {

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// One end for the program, one for the test, which is non-blocking.
std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  return ends;
}

void stop_waiting(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

void close_end(int& fd) {
  if (fd >= 0) ::close(std::exchange(fd, -1));
}

// Reads all available bytes; true at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 65'536> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      return count == 0 || errno != EAGAIN;
    }
  }
}

}  // namespace

void pause_briefly() { static_cast<void>(::poll(nullptr, 0, 10)); }

Session::Session(const Launch& launch, Ends ends) {
  ::signal(SIGPIPE, SIG_IGN);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, launch.folder.c_str());
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  // In a new session, so that the terminal it opens becomes its controlling terminal.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::array<int, 3> given = {-1, -1, -1};
  if (ends == Ends::terminal) {
    out_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(::grantpt(out_) + ::unlockpt(out_), 0);
    std::array<char, 128> name{};
    EXPECT_EQ(::ptsname_r(out_, name.data(), name.size()), 0);
    slave_ = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    in_ = ::fcntl(out_, F_DUPFD_CLOEXEC, 3);
    resize(24, 80);
    first_modes_ = modes();
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name.data(), O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO);
  } else {
    const auto in = make_pipe();
    const auto out = make_pipe();
    const auto err = make_pipe();
    given = {in[0], out[1], err[1]};
    in_ = in[1];
    out_ = out[0];
    err_ = err[0];
    for (int fd = 0; fd < 3; ++fd) {
      posix_spawn_file_actions_adddup2(&actions, given[static_cast<std::size_t>(fd)], fd);
    }
    stop_waiting(err_);
  }
  stop_waiting(out_);
  std::vector<std::string> settings = settings_of(launch);
  std::vector<std::string> words = launch.argv;
  const auto environment = pointers_to(settings);
  const auto argv = pointers_to(words);
  const int error = ::posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  for (int& fd : given) close_end(fd);
  EXPECT_EQ(error, 0) << "cannot start " << launch.argv[0];
  has_ended_ = error != 0;
  if (!has_ended_) pidfd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
}

Session::~Session() {
  if (!has_ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  close_ends();
}

void Session::close_ends() {
  for (int* fd : {&pidfd_, &in_, &out_, &err_, &slave_}) close_end(*fd);
}

void Session::read(std::chrono::milliseconds time) {
  std::array<pollfd, 3> ends = {{{out_, POLLIN, 0}, {err_, POLLIN, 0}, {has_ended_ ? -1 : pidfd_, POLLIN, 0}}};
  if (::poll(ends.data(), ends.size(), static_cast<int>(time.count())) <= 0) return;
  if (ends[2].revents != 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) has_ended_ = true;
  // Also at its end, even if another process keeps the pipe open.
  if (out_ >= 0 && drain(out_, out_text_)) close_end(out_);
  if (err_ >= 0 && drain(err_, err_text_)) close_end(err_);
}

bool Session::wait_in(const std::string& text, std::size_t& seen, std::string_view wanted) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::size_t from = seen;
  while (true) {
    const std::size_t found = text.find(wanted, from);
    if (found != std::string::npos) {
      seen = found + wanted.size();
      return true;
    }
    from = text.size() < seen + wanted.size() ? seen : text.size() - wanted.size();
    const bool was_over = has_ended_;
    if (!was_over && std::chrono::steady_clock::now() < deadline) {
      read(std::chrono::milliseconds(100));
      continue;
    }
    ADD_FAILURE() << "`" << wanted << "` did not come; " << (was_over ? "it has ended" : "it goes on") << ". It said:\n"
                  << out_text_.substr(0, 4000) << "\nand beside it:\n"
                  << err_text_.substr(0, 4000);
    return false;
  }
}

bool Session::wait_for(std::string_view text) { return wait_in(out_text_, out_seen_, text); }

bool Session::wait_for_error(std::string_view text) { return wait_in(err_text_, err_seen_, text); }

bool Session::is_over() {
  read(std::chrono::milliseconds(0));
  return has_ended_;
}

int Session::wait() {
  const auto deadline = std::chrono::steady_clock::now() + 2 * timeout;
  while (!has_ended_ && std::chrono::steady_clock::now() < deadline) read(std::chrono::milliseconds(100));
  if (!has_ended_) {
    ADD_FAILURE() << "it does not end. It said:\n"
                  << out_text_.substr(0, 4000) << "\nand beside it:\n"
                  << err_text_.substr(0, 4000);
    return -1;
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

const std::string& Session::out() {
  read(std::chrono::milliseconds(0));
  return out_text_;
}

const std::string& Session::err() {
  read(std::chrono::milliseconds(0));
  return err_text_;
}

void Session::type(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(in_, bytes.data(), bytes.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    ASSERT_GT(count, 0) << "it takes no input";
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void Session::close_input() { close_end(in_); }

void Session::resize(int rows, int columns) {
  const winsize size{static_cast<unsigned short>(rows), static_cast<unsigned short>(columns), 0, 0};
  EXPECT_EQ(::ioctl(in_, TIOCSWINSZ, &size), 0);
}

void Session::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

termios Session::modes() const {
  termios modes{};
  EXPECT_EQ(::tcgetattr(slave_, &modes), 0);
  return modes;
}

}  // namespace reeve::testing
