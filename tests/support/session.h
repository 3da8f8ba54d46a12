#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <termios.h>

#include "tests/support/program.h"

namespace reeve::testing {

// How long anything may take before a test treats it as a hang.
constexpr std::chrono::seconds timeout{30};

// Polls until it holds; false if it never does.
template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds limit = timeout);

// A program in the background, on pipes or at its own terminal. Killed by the destructor.
class Session {
 public:
  enum class Ends { pipes, terminal };
  explicit Session(const Launch& launch, Ends ends = Ends::pipes);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Waits for that text on standard output (or the terminal) after the last match. Fails the test if it does not come.
  bool wait_for(std::string_view text);
  // The same for standard error.
  bool wait_for_error(std::string_view text);
  // Waits for the end: the exit code, or 128 + the signal. All output has been read.
  int wait();
  bool is_over();

  // The output so far; on a terminal all of it is in `out`.
  const std::string& out();
  const std::string& err();

  void type(std::string_view bytes);
  void close_input();
  void resize(int rows, int columns);
  void signal(int number) const;
  pid_t pid() const noexcept { return pid_; }
  // The modes of its terminal: now, and before the program started.
  termios modes() const;
  const termios& first_modes() const noexcept { return first_modes_; }

 private:
  // Reads available output, waiting a moment for it.
  void read(std::chrono::milliseconds time);
  bool wait_in(const std::string& text, std::size_t& seen, std::string_view wanted);
  void close_ends();

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  // Kept open, so that the modes can be read after the program has exited.
  int slave_ = -1;
  termios first_modes_{};
  int status_ = 0;
  bool has_ended_ = false;
  std::string out_text_;
  std::string err_text_;
  std::size_t out_seen_ = 0;
  std::size_t err_seen_ = 0;
};

void pause_briefly();

template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    pause_briefly();
  }
  return true;
}

}  // namespace reeve::testing
