#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

#include "keeper/message.h"
#include "os/blocked.h"

namespace reeve::keeper {

// Sees from outside when a process of the run waits at its terminal for somebody to type. It looks only when nothing
// has been printed for a moment, and more and more rarely while nothing changes.
class TerminalWatch {
 public:
  // Both ends of the terminal, which must outlive this; all below `root` is looked at.
  TerminalWatch(int master, int slave, pid_t root, std::int64_t now);

  // What is new: the one comes before the other.
  struct News {
    std::optional<PromptOver> over;
    std::optional<Prompt> prompt;
  };
  // To be called whenever something may have happened, and at next_look(). `printed` and `typed` count the bytes so
  // far; times are those of BOOTTIME.
  News update(std::uint64_t printed, std::uint64_t typed, std::int64_t now);
  // The bytes up to `typed` end with a whole answer to the prompt, as opposed to what a person is still typing. To be
  // called before the update that counts them.
  void note_answer(std::uint64_t typed) noexcept { answered_ = typed; }
  std::int64_t next_look() const noexcept { return look_at_; }
  const std::optional<Prompt>& prompt() const noexcept { return prompt_; }
  // Of the last one there was, 0 when there was none.
  std::uint32_t last_serial() const noexcept { return last_serial_; }

  // The tool has ended.
  News end() noexcept;

  // Looks again whether the prompt of this serial still stands: only then may anything be typed for it.
  bool still_stands(std::uint32_t serial) const;

 private:
  // Who waits, and how surely.
  struct Waiter {
    os::WaitingThread thread;
    Prompt::Certainty certainty = Prompt::Certainty::certain;
    bool is_secret = false;
  };
  // `preferred`: a thread that is named before others.
  std::optional<Waiter> look(pid_t preferred) const;
  static bool is_alike(const Waiter& a, const Waiter& b) noexcept;
  bool is_spent(const Waiter& waiter, std::int64_t now) const noexcept;
  void consider(const std::optional<Waiter>& waiter, std::int64_t now, News& news);
  void put_off(std::int64_t now, std::int64_t pause) noexcept;
  void close_prompt(News& news) noexcept;

  int master_;
  int slave_;
  pid_t root_;
  std::optional<os::TerminalDevice> device_;

  std::uint64_t printed_ = 0;
  std::uint64_t typed_ = 0;
  std::uint64_t answered_ = 0;
  std::int64_t quiet_since_;
  std::int64_t look_at_;
  std::int64_t pause_;
  // Whom the last look found, before it was sure enough to be told.
  std::optional<Waiter> suspect_;
  std::int64_t suspected_at_ = 0;
  // Whom the prompt that stands is about.
  std::optional<Waiter> standing_;
  // The last look did not find it.
  bool is_missed_ = false;
  // Something was typed to it: not a prompt again before it has woken, or has ignored a whole answer for a while.
  std::optional<os::WaitingThread> spent_;
  std::optional<Prompt> prompt_;
  std::uint32_t last_serial_ = 0;
};

}  // namespace reeve::keeper
