#include "os/terminal.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "os/signals.h"
#include "os/spawn.h"

namespace reeve::os {
namespace {

class Terminal : public ::testing::Test {
 protected:
  tcflag_t local_flags() const {
    termios settings{};
    EXPECT_EQ(::tcgetattr(slave_.get(), &settings), 0);
    return settings.c_lflag;
  }

  // Runs a child that makes the terminal raw and then performs the action. Returns its waitpid() status.
  template <class Act>
  int in_child(Act act) {
    const pid_t child = ::fork();
    if (child == 0) {
      // A sanitizer has a handler of its own, which RawTerminal would leave in place.
      for (const int number : {SIGABRT, SIGSEGV}) std::signal(number, SIG_DFL);
      const RawTerminal raw(slave_.get());
      if ((local_flags() & static_cast<tcflag_t>(ICANON)) != 0) ::_exit(99);
      act();
      ::_exit(98);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  Pty pty_{30, 100};
  Fd slave_{::open(pty_.slave().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
};

TEST_F(Terminal, reports_its_size) {
  EXPECT_EQ(terminal_size(slave_.get()), (TerminalSize{.rows = 30, .columns = 100}));
  pty_.resize(10, 20);
  EXPECT_EQ(terminal_size(slave_.get()), (TerminalSize{.rows = 10, .columns = 20}));
  EXPECT_EQ(terminal_size(make_pipe().read.get()), std::nullopt);
}

TEST_F(Terminal, is_raw_only_while_held) {
  const tcflag_t before = local_flags();
  {
    const RawTerminal raw(slave_.get());
    EXPECT_TRUE(RawTerminal::is_active());
    EXPECT_EQ(local_flags() & static_cast<tcflag_t>(ECHO | ICANON | ISIG), 0U);
  }
  EXPECT_FALSE(RawTerminal::is_active());
  EXPECT_EQ(local_flags(), before);
  EXPECT_THROW(RawTerminal(make_pipe().read.get()), base::Error);
}

TEST_F(Terminal, is_restored_however_the_process_ends) {
  const tcflag_t before = local_flags();
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGSEGV}) {
    const int status = in_child([number] { ::raise(number); });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << "it must still die from signal " << number;
    EXPECT_EQ(local_flags(), before) << number;
  }
  EXPECT_EQ(in_child([] { std::exit(0); }), 0);
  EXPECT_EQ(local_flags(), before) << "exit()";
}

TEST(SignalInbox, returns_pending_signals_and_skips_ignored_ones) {
  std::signal(SIGUSR2, SIG_IGN);
  {
    SignalInbox inbox({SIGUSR1, SIGUSR2});
    EXPECT_EQ(inbox.take(), std::nullopt);
    ::raise(SIGUSR2);
    ::raise(SIGUSR1);
    EXPECT_EQ(inbox.take(), SIGUSR1);
    EXPECT_EQ(inbox.take(), std::nullopt);
  }
  std::signal(SIGUSR2, SIG_DFL);
}

}  // namespace
}  // namespace reeve::os
