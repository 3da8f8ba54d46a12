#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tests/zoo/mode.h"

// What a tool may do at its terminal.
namespace reeve::zoo {

namespace {

// Nothing at the end of input. Reads byte by byte, so that nothing after the line is consumed.
std::optional<std::string> read_line() {
  std::string line;
  while (true) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (byte == '\n') return line;
    line += byte;
  }
}

int ask_line(const Words&) {
  write_all(STDOUT_FILENO, "Continue? [y/N] ");
  const auto answer = read_line();
  if (!answer) {
    say("got nothing");
    return 1;
  }
  say("got: " + *answer);
  return 0;
}

int echo_tty(const Words&) {
  while (const auto line = read_line()) {
    if (*line == "quit") break;
    say("echo: " + *line);
  }
  return 0;
}

void say_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    say("no terminal");
    return;
  }
  say(std::to_string(size.ws_row) + "x" + std::to_string(size.ws_col));
}

int size(const Words&) {
  sigset_t changes;
  sigemptyset(&changes);
  sigaddset(&changes, SIGWINCH);
  ::sigprocmask(SIG_BLOCK, &changes, nullptr);
  const int signals = ::signalfd(-1, &changes, SFD_CLOEXEC);
  if (signals < 0) fail("signalfd");
  say_size();
  std::array<pollfd, 2> ends = {pollfd{signals, POLLIN, 0}, pollfd{STDIN_FILENO, POLLIN, 0}};
  while (::poll(ends.data(), ends.size(), -1) >= 0 || errno == EINTR) {
    if (ends[0].revents != 0) {
      signalfd_siginfo change{};
      if (::read(signals, &change, sizeof change) == sizeof change) say_size();
    }
    if (ends[1].revents != 0) {
      std::array<char, 256> ignored{};
      if (::read(STDIN_FILENO, ignored.data(), ignored.size()) <= 0) break;
    }
  }
  return 0;
}

constexpr std::array modes = {
    Mode{"ask-line", "", "prompts without a newline, reads a line, says `got: LINE`; exit 0, or 1 at the end of input",
         ask_line},
    Mode{"echo-tty", "", "says `echo: LINE` to each line until `quit` or the end of input; exit 0", echo_tty},
    Mode{"size", "", "ROWSxCOLUMNS of its terminal, again at each change, until the end of input; exit 0", size},
};

}  // namespace

std::span<const Mode> terminal_modes() { return modes; }

}  // namespace reeve::zoo
