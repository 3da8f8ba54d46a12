#include "keeper/terminal_watch.h"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

#include "keeper/clock.h"

namespace reeve::keeper {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::int64_t in_ns(milliseconds time) noexcept { return nanoseconds(time).count(); }

// No checks while output arrives more often than this.
constexpr std::int64_t first_quiet = in_ns(milliseconds(250));
// A thread that is still in the same sleep after this time is blocked, not just passing through.
constexpr std::int64_t confirmation = in_ns(milliseconds(100));
// Less than a second, including the confirmation.
constexpr std::int64_t longest_pause = in_ns(milliseconds(800));
constexpr std::int64_t pause_at_prompt = in_ns(milliseconds(1'000));
// A thread that only polls the terminal, or is hidden, is assumed to wait after this time.
constexpr std::int64_t probable_quiet = in_ns(milliseconds(2'000));
// A thread that was answered and has not woken up after this time has ignored the answer.
constexpr std::int64_t ignored_quiet = in_ns(milliseconds(3'000));
// Checking a tree of thousands of processes takes a while: limit it to a fiftieth of the time.
constexpr std::int64_t look_share = 50;

}  // namespace

TerminalWatch::TerminalWatch(int master, int slave, pid_t root, std::int64_t now)
    : master_(master),
      slave_(slave),
      root_(root),
      device_(os::terminal_device(slave)),
      quiet_since_(now),
      look_at_(device_ ? now + first_quiet : never),
      pause_(first_quiet) {}

TerminalWatch::News TerminalWatch::update(std::uint64_t printed, std::uint64_t typed, std::int64_t now) {
  News news;
  if (!device_) return news;
  const bool has_typed = std::exchange(typed_, typed) != typed;
  const bool has_printed = std::exchange(printed_, printed) != printed;
  if (has_typed && standing_) spent_ = standing_->thread;
  if (has_typed || has_printed) {
    close_prompt(news);
    suspect_.reset();
    quiet_since_ = now;
    pause_ = first_quiet;
    // Keeps an earlier time, so that the timer need not be set again for each line.
    look_at_ = std::min(look_at_, now + first_quiet);
    return news;
  }
  if (now < look_at_) return news;
  if (now < quiet_since_ + first_quiet) {
    look_at_ = quiet_since_ + first_quiet;
    return news;
  }
  const std::int64_t began = boot_now();
  const auto waiter = look(standing_ ? standing_->thread.thread : 0);
  consider(waiter, now, news);
  const std::int64_t took = boot_now() - began;
  look_at_ = std::max(look_at_, now + took * look_share);
  return news;
}

void TerminalWatch::consider(const std::optional<Waiter>& waiter, std::int64_t now, News& news) {
  if (prompt_) {
    const bool stands = waiter && is_alike(*waiter, *standing_);
    // A thread that woke up only briefly, by a signal or a timeout, is found by the next check.
    if (stands || !std::exchange(is_missed_, true)) {
      is_missed_ = is_missed_ && !stands;
      look_at_ = now + (stands ? pause_at_prompt : confirmation);
      return;
    }
    close_prompt(news);
    pause_ = first_quiet;
  }
  if (!waiter || is_spent(*waiter, now)) {
    suspect_.reset();
    return put_off(now, pause_);
  }
  spent_.reset();
  const bool is_certain = waiter->certainty == Prompt::Certainty::certain;
  const bool is_hidden = waiter->thread.wait == os::TerminalWait::hidden;
  // A polling thread may wake up now and then by a timeout; others must not have moved.
  const bool may_wake = !is_certain && !is_hidden;
  const bool is_confirmed =
      suspect_ && is_alike(*suspect_, *waiter) && (may_wake || suspect_->thread.sleeps == waiter->thread.sleeps);
  suspect_ = waiter;
  if (!is_confirmed) {
    suspected_at_ = now;
    pause_ = first_quiet;
    look_at_ = now + confirmation;
    return;
  }
  const std::int64_t due = is_certain ? now : (is_hidden ? suspected_at_ : quiet_since_) + probable_quiet;
  if (now < due) {
    look_at_ = std::min(due, now + longest_pause);
    return;
  }
  standing_ = std::exchange(suspect_, std::nullopt);
  prompt_ = Prompt{.serial = ++last_serial_,
                   .certainty = standing_->certainty,
                   .is_secret = standing_->is_secret,
                   .position = printed_};
  news.prompt = prompt_;
  look_at_ = now + pause_at_prompt;
}

void TerminalWatch::put_off(std::int64_t now, std::int64_t pause) noexcept {
  look_at_ = now + pause;
  pause_ = std::min(pause * 2, longest_pause);
}

void TerminalWatch::close_prompt(News& news) noexcept {
  if (prompt_) news.over = PromptOver{prompt_->serial};
  prompt_.reset();
  standing_.reset();
  is_missed_ = false;
}

TerminalWatch::News TerminalWatch::end() noexcept {
  News news;
  close_prompt(news);
  look_at_ = never;
  device_.reset();
  return news;
}

bool TerminalWatch::still_stands(std::uint32_t serial) const {
  // Retry, because the thread may have woken up only briefly.
  constexpr int tries = 5;
  constexpr timespec pause{0, 2'000'000};
  for (int i = 0; i < tries && prompt_ && prompt_->serial == serial; ++i) {
    if (i > 0) ::nanosleep(&pause, nullptr);
    const auto waiter = look(standing_->thread.thread);
    if (waiter && is_alike(*waiter, *standing_)) return true;
  }
  return false;
}

bool TerminalWatch::is_alike(const Waiter& a, const Waiter& b) noexcept {
  return a.thread.thread == b.thread.thread && a.certainty == b.certainty && a.is_secret == b.is_secret;
}

// Whether the thread is still in the sleep that it was in when input was typed. If it polls, unread input is in the
// terminal's queue, and look() then finds no waiting thread. An answer that it sleeps through, such as an ignored
// interrupt, does not count. A partial line typed by a user looks the same, and must not be completed by anyone else.
bool TerminalWatch::is_spent(const Waiter& waiter, std::int64_t now) const noexcept {
  const bool is_same = spent_ && spent_->thread == waiter.thread.thread && spent_->sleeps == waiter.thread.sleeps;
  const bool is_ignored = typed_ == answered_ && now >= quiet_since_ + ignored_quiet;
  return is_same && !is_ignored;
}

std::optional<TerminalWatch::Waiter> TerminalWatch::look(pid_t preferred) const {
  pollfd unread{master_, POLLIN, 0};
  // Output was just printed, or typed input has not been read.
  if (::poll(&unread, 1, 0) != 0) return std::nullopt;
  int untaken = 0;
  termios modes{};
  if (::ioctl(slave_, FIONREAD, &untaken) != 0 || untaken > 0) return std::nullopt;
  if (::tcgetattr(slave_, &modes) != 0) return std::nullopt;
  const bool takes_lines = (modes.c_lflag & static_cast<tcflag_t>(ICANON)) != 0;
  const bool is_secret = takes_lines && (modes.c_lflag & static_cast<tcflag_t>(ECHO)) == 0;
  // A read that returns on its own after a while.
  const bool reads_come_back = !takes_lines && modes.c_cc[VMIN] == 0;

  std::optional<Waiter> best;
  const auto rank = [&](const os::WaitingThread& thread, Prompt::Certainty certainty) {
    return (certainty == Prompt::Certainty::certain ? 4 : 0) + (thread.wait != os::TerminalWait::hidden ? 2 : 0) +
           (thread.thread == preferred ? 1 : 0);
  };
  pid_t foreground = 0;
  // tcgetpgrp() works only on the caller's controlling terminal; the ioctl works on the master.
  if (::ioctl(master_, TIOCGPGRP, &foreground) != 0) return std::nullopt;
  for (const os::WaitingThread& thread : os::find_terminal_waits(root_, *device_, foreground)) {
    // A hidden process that reads keys rather than lines draws a screen: silence says nothing about it.
    if (thread.wait == os::TerminalWait::hidden && !takes_lines) continue;
    const bool is_certain = thread.wait == os::TerminalWait::reads && !reads_come_back;
    const auto certainty = is_certain ? Prompt::Certainty::certain : Prompt::Certainty::probable;
    if (best && rank(best->thread, best->certainty) >= rank(thread, certainty)) continue;
    best = Waiter{.thread = thread, .certainty = certainty, .is_secret = is_secret};
  }
  return best;
}

}  // namespace reeve::keeper
