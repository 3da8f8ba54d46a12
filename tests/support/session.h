#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <termios.h>

#include "tests/support/program.h"

namespace reeve::testing {

// How long anything may take before a test calls it a hang.
constexpr std::chrono::seconds patience{30};

// Looks again and again until it holds; false when it never did.
template <class Condition>
bool eventually(Condition holds, std::chrono::milliseconds limit = patience);

// A program in the background that a test talks to, on pipes or at a terminal of its own. Killed when it is left alone.
class Session {
 public:
  enum class Ends { pipes, terminal };
  explicit Session(const Launch& launch, Ends ends = Ends::pipes);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Whether that text has come on standard output (or the terminal) after what was waited for last. Fails the test when
  // it does not come.
  bool wait_for(std::string_view text);
  // The same of standard error.
  bool wait_for_error(std::string_view text);
  // Its end: the exit code, or 128 + the signal. All that it printed has been read.
  int wait();
  bool is_over();

  // What came so far; on a terminal everything is in `out`.
  const std::string& out();
  const std::string& err();

  void type(std::string_view bytes);
  void close_input();
  void resize(int rows, int columns);
  void signal(int number) const;
  pid_t pid() const noexcept { return pid_; }
  // Of its terminal: now, and before the program began.
  termios modes() const;
  const termios& first_modes() const noexcept { return first_modes_; }

 private:
  // Takes what has come, waiting for it a moment.
  void read(std::chrono::milliseconds time);
  bool wait_in(const std::string& text, std::size_t& seen, std::string_view wanted);
  void close_ends();

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
  // Held, so that the modes can be asked for after the program has left.
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
