#include "keeper/terminal_watch.h"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "keeper/clock.h"
#include "os/spawn.h"

// Real programs on a real terminal: the kernel determines what a prompt looks like (RUN-10).
namespace reeve::keeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Argv = std::vector<std::string>;

Argv bash(const std::string& script) { return {"/bin/bash", "-c", script}; }
Argv python(const std::string& script) { return {"/usr/bin/python3", "-c", script}; }

// A program on a terminal, watched as by a keeper.
class Watched {
 public:
  explicit Watched(const Argv& argv)
      : slave_(::open(pty_.slave().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC)),
        watch_(pty_.master().get(), slave_.get(), ::getpid(), boot_now()) {
    ::fcntl(pty_.master().get(), F_SETFL, O_NONBLOCK);
    os::SpawnPlan plan{.argv = argv, .environment = {"PATH=/usr/bin:/bin", "TERM=xterm", "HOME=/tmp"}};
    plan.terminal = pty_.slave();
    tool_.emplace(std::move(os::spawn(plan).value()));
  }
  ~Watched() {
    ::kill(-tool_->pid(), SIGKILL);
    tool_->wait();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // The next prompt; nullopt if none came in time.
  std::optional<Prompt> wait_for_prompt(milliseconds most = seconds(10)) {
    turn_until(most, [&] { return prompt_.has_value(); });
    return std::exchange(prompt_, std::nullopt);
  }
  bool wait_for_over(std::uint32_t serial, milliseconds most = seconds(10)) {
    turn_until(most, [&] { return over_ == serial; });
    return over_ == serial;
  }
  bool wait_for_text(std::string_view text) {
    turn_until(seconds(10), [&] { return shown_.find(text) != std::string::npos; });
    return shown_.find(text) != std::string::npos;
  }
  void answer(std::string_view bytes) {
    watch_.note_answer(typed_ + bytes.size());
    type(bytes);
  }
  void type(std::string_view bytes) {
    typed_ += static_cast<std::uint64_t>(::write(pty_.master().get(), bytes.data(), bytes.size()));
    take(watch_.update(printed_, typed_, boot_now()));
  }
  TerminalWatch& watch() { return watch_; }
  const os::Pty& pty() const { return pty_; }
  std::int64_t last_output() const { return last_output_; }
  int looks() const { return looks_; }

 private:
  template <class Condition>
  void turn_until(milliseconds most, Condition is_met) {
    const std::int64_t end = boot_now() + std::chrono::nanoseconds(most).count();
    while (!is_met() && boot_now() < end) {
      const std::int64_t pause = std::min(watch_.next_look(), end) - boot_now();
      pollfd master{pty_.master().get(), POLLIN, 0};
      ::poll(&master, 1, static_cast<int>(std::max<std::int64_t>(pause, 0) / 1'000'000 + 1));
      std::array<char, 4'096> bytes{};
      const ssize_t count = ::read(master.fd, bytes.data(), bytes.size());
      if (count > 0) {
        shown_.append(bytes.data(), static_cast<std::size_t>(count));
        printed_ += static_cast<std::uint64_t>(count);
        last_output_ = boot_now();
      }
      if (boot_now() >= watch_.next_look()) ++looks_;
      take(watch_.update(printed_, typed_, boot_now()));
    }
  }
  void take(const TerminalWatch::News& news) {
    if (news.over) over_ = news.over->serial;
    if (news.prompt) prompt_ = news.prompt;
  }

  os::Pty pty_{24, 80};
  os::Fd slave_;
  TerminalWatch watch_;
  std::optional<os::Process> tool_;
  std::string shown_;
  std::uint64_t printed_ = 0;
  std::uint64_t typed_ = 0;
  std::int64_t last_output_ = boot_now();
  int looks_ = 0;
  std::optional<Prompt> prompt_;
  std::uint32_t over_ = 0;
};

enum class User { own, nobody };

// Each as root and as an unprivileged user, to whom the kernel shows less.
class TerminalWatchTest : public ::testing::TestWithParam<User> {
 protected:
  // In a separate process, in parallel with others of this test. Failed expectations are in its output.
  template <class Body>
  void run(Body body) {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr uid_t nobody = 65'534;
      const bool is_changed = GetParam() == User::own || (::setgid(nobody) == 0 && ::setuid(nobody) == 0);
      EXPECT_TRUE(is_changed || ::geteuid() != 0);
      body();
      ::_exit(HasFailure() ? 1 : 0);
    }
    children_.push_back(child);
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
  }

  void expect_prompt(const Argv& argv, Prompt::Certainty certainty, bool is_secret = false) {
    run([&] {
      Watched program(argv);
      const auto prompt = program.wait_for_prompt();
      ASSERT_TRUE(prompt) << argv.back();
      EXPECT_EQ(prompt->certainty, certainty) << argv.back();
      EXPECT_EQ(prompt->is_secret, is_secret) << argv.back();
      EXPECT_EQ(prompt->serial, 1U);
    });
  }
  void expect_none(const Argv& argv) {
    run([&] {
      Watched program(argv);
      EXPECT_FALSE(program.wait_for_prompt(milliseconds(3'500))) << argv.back();
      EXPECT_LE(program.looks(), 9) << argv.back();
    });
  }

 private:
  std::vector<pid_t> children_;
};
INSTANTIATE_TEST_SUITE_P(Each, TerminalWatchTest, ::testing::Values(User::own, User::nobody),
                         [](const auto& param) { return param.param == User::own ? "own" : "nobody"; });

TEST_P(TerminalWatchTest, process_reading_the_terminal_is_certain) {
  for (const Argv& argv : {bash("read -p 'Go on? [y/N] ' a"), bash("echo 'Which one?'; read a"), python("input('x? ')"),
                           Argv{"/bin/cat"}, bash("exec 5</dev/tty; sleep 0.3; read a <&5 </dev/tty"),
                           bash("true | { read a </dev/tty; }"), bash("setsid cat <&0 & wait")}) {
    expect_prompt(argv, Prompt::Certainty::certain);
  }
}

TEST_P(TerminalWatchTest, prompt_is_detected_within_a_second) {
  run([] {
    // A long silence first, so that checks have become rare.
    Watched program(python("import time\ntime.sleep(3)\nprint(end='?', flush=True)\ninput()"));
    ASSERT_TRUE(program.wait_for_prompt());
    EXPECT_LT(boot_now() - program.last_output(), std::chrono::nanoseconds(seconds(1)).count());
  });
  run([] {
    // It prints nothing before it reads.
    Watched program(bash("sleep 3; echo; sleep 2; read a"));
    ASSERT_TRUE(program.wait_for_prompt());
    EXPECT_LT(boot_now() - program.last_output(), std::chrono::nanoseconds(milliseconds(3'100)).count());
  });
}

TEST_P(TerminalWatchTest, process_polling_the_terminal_is_probable) {
  for (const Argv& argv : {
           python("import select,sys\nprint('key? ', end='', flush=True)\nselect.select([sys.stdin],[],[])"),
           python("import select,sys\np=select.poll()\np.register(0,select.POLLIN)\np.poll()"),
           python("import select,sys\np=select.epoll()\np.register(0,select.EPOLLIN)\np.poll()"),
           python("import readline\ninput('x? ')"),
       }) {
    expect_prompt(argv, Prompt::Certainty::probable);
  }
}

TEST_P(TerminalWatchTest, line_input_without_echo_is_a_secret) {
  expect_prompt(python("import getpass\ngetpass.getpass()"), Prompt::Certainty::certain, true);
  expect_prompt(bash("read -s -p 'Password: ' a"), Prompt::Certainty::certain, true);
  // Single keys, drawn by the program itself.
  expect_prompt(bash("stty -echo -icanon; read a"), Prompt::Certainty::certain, false);
}

TEST_P(TerminalWatchTest, silent_programs_are_not_reported) {
  for (const Argv& argv : {
           Argv{"/bin/sleep", "60"},
           bash("while :; do :; done"),
           bash("sleep 60 | cat"),
           python("import select,socket\ns=socket.socket()\ns.bind(('127.0.0.1',0))\ns.listen()\np=select.epoll()\n"
                  "p.register(s.fileno(),select.EPOLLIN)\np.poll()"),
           // It polls for something else than input.
           python("import select\np=select.poll()\np.register(0,select.POLLPRI)\np.poll()"),
           // In the terminal's session, but in the background: typed input goes to another process.
           bash("set -m; cat & sleep 60"),
           bash("set -m; /usr/bin/python3 -c 'import select\np=select.poll()\np.register(0,1)\np.poll()' & sleep 60"),
           // Stopped in its read.
           bash("(sleep 0.1; kill -STOP $$) & exec cat"),
       }) {
    expect_none(argv);
  }
}

// A setuid program: the kernel hides it from other users.
TEST_P(TerminalWatchTest, unreadable_process_is_judged_by_terminal_mode) {
  if (GetParam() == User::own && ::geteuid() == 0) return expect_none({"/bin/sleep", "60"});
  expect_prompt({"/bin/su", "root", "-c", "true"}, Prompt::Certainty::probable, true);
}

TEST_P(TerminalWatchTest, prompt_ends_when_answered) {
  run([] {
    Watched program(bash("read -p 'a? ' a; read -p 'b? ' b; echo \"got $a $b\"; sleep 60"));
    auto prompt = program.wait_for_prompt();
    ASSERT_TRUE(prompt);
    EXPECT_TRUE(program.watch().still_stands(1));
    program.type("1\r");
    EXPECT_TRUE(program.wait_for_over(1));
    EXPECT_FALSE(program.watch().still_stands(1));
    prompt = program.wait_for_prompt();
    ASSERT_TRUE(prompt) << "another read is another prompt";
    EXPECT_EQ(prompt->serial, 2U);
    EXPECT_FALSE(program.watch().still_stands(1));
    program.type("2\r");
    EXPECT_TRUE(program.wait_for_text("got 1 2"));
    EXPECT_FALSE(program.wait_for_prompt(seconds(3)));
  });
}

TEST_P(TerminalWatchTest, same_read_is_not_reported_again_after_typing) {
  run([] {
    // A partial line: the reader does not wake up.
    Watched program(bash("stty -echo; read a; echo got $a; sleep 60"));
    ASSERT_TRUE(program.wait_for_prompt());
    program.type("y");
    EXPECT_TRUE(program.wait_for_over(1));
    EXPECT_FALSE(program.wait_for_prompt(seconds(3)));
    program.type("es\r");
    EXPECT_TRUE(program.wait_for_text("got yes"));
  });
  run([] {
    // Input that is not read stays in the terminal.
    Watched program(bash("read a; sleep 60"));
    ASSERT_TRUE(program.wait_for_prompt());
    program.type("y\rmore\r");
    EXPECT_FALSE(program.wait_for_prompt(seconds(3)));
  });
}

// An ignored interrupt is not an answer: the waiting process must be reported again.
TEST_P(TerminalWatchTest, read_that_ignores_the_answer_is_reported_again) {
  run([] {
    Watched program(bash("trap '' INT; read -p 'Name: ' a; echo got $a; sleep 60"));
    ASSERT_TRUE(program.wait_for_prompt());
    program.answer("\x03");
    EXPECT_TRUE(program.wait_for_over(1));
    EXPECT_FALSE(program.wait_for_prompt(seconds(2))) << "it has time to read it";
    const auto again = program.wait_for_prompt();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->serial, 2U);
    program.answer("bob\r");
    EXPECT_TRUE(program.wait_for_text("got bob"));
  });
  run([] {
    // A user starts typing after it: the line must not be touched.
    Watched program(bash("trap '' INT; read -p 'Name: ' a; echo got $a; sleep 60"));
    ASSERT_TRUE(program.wait_for_prompt());
    program.answer("\x03");
    program.type("an");
    EXPECT_FALSE(program.wait_for_prompt(seconds(6)));
    program.type("a\r");
    EXPECT_TRUE(program.wait_for_text("got ana"));
  });
}

TEST_P(TerminalWatchTest, prompt_ends_on_output_or_timeout) {
  run([] {
    Watched program(bash("read -t 3 -p 'quick? ' a; sleep 60"));
    const auto prompt = program.wait_for_prompt();
    ASSERT_TRUE(prompt);
    EXPECT_TRUE(program.wait_for_over(prompt->serial));
    EXPECT_FALSE(program.watch().still_stands(prompt->serial));
  });
  run([] {
    Watched program(bash("(sleep 2; echo news) & read -p 'a? ' a"));
    ASSERT_TRUE(program.wait_for_prompt());
    EXPECT_TRUE(program.wait_for_over(1));
    const auto again = program.wait_for_prompt();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->serial, 2U);
  });
}

// No checks while output arrives, and few while nothing happens.
TEST_P(TerminalWatchTest, polls_rarely) {
  run([] {
    Watched program(bash("for i in {1..30}; do echo $i; sleep 0.1; done; sleep 60"));
    const std::int64_t begun = boot_now();
    program.wait_for_text("30");
    // The timer may expire while output arrives; the check is then postponed.
    EXPECT_LE(program.looks(), 5 * (boot_now() - begun) / 1'000'000'000 + 4);
    const int before = program.looks();
    const std::int64_t quiet = boot_now();
    EXPECT_FALSE(program.wait_for_prompt(seconds(8)));
    // Every 0.8 s in the end.
    EXPECT_LE(program.looks() - before, (boot_now() - quiet) / 800'000'000 + 4);
  });
}

}  // namespace
}  // namespace reeve::keeper
