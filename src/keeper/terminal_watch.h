#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>

#include "keeper/message.h"
#include "os/blocked.h"

namespace reeve::keeper {

// Detects from outside when a process of the run waits for terminal input. Checks only after output has been quiet for
// a moment, and less and less often while nothing changes.
class TerminalWatch {
 public:
  // Both ends of the terminal, which must outlive this; all processes below `root` are checked.
  TerminalWatch(int master, int slave, pid_t root, std::int64_t now);

  // Changes since the last update, in this order.
  struct News {
    std::optional<PromptOver> over;
    std::optional<Prompt> prompt;
  };
  // Call whenever something may have happened, and at next_look(). `printed` and `typed` count the bytes so far; times
  // are in BOOTTIME.
  News update(std::uint64_t printed, std::uint64_t typed, std::int64_t now);
  // The bytes up to `typed` end with a complete answer to the prompt, as opposed to text that a user is still typing.
  // Call before the update that counts them.
  void note_answer(std::uint64_t typed) noexcept { answered_ = typed; }
  std::int64_t next_look() const noexcept { return look_at_; }
  const std::optional<Prompt>& prompt() const noexcept { return prompt_; }
  // Serial of the last prompt, 0 if there was none.
  std::uint32_t last_serial() const noexcept { return last_serial_; }

  // The tool has ended.
  News end() noexcept;

  // Checks again whether the prompt with this serial is still active: only then may an answer be typed.
  bool still_stands(std::uint32_t serial) const;

 private:
  // The waiting thread, and how certain it is.
  struct Waiter {
    os::WaitingThread thread;
    Prompt::Certainty certainty = Prompt::Certainty::certain;
    bool is_secret = false;
  };
  // `preferred`: a thread that is chosen over others.
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
  // The thread found by the last check, not yet certain enough to report.
  std::optional<Waiter> suspect_;
  std::int64_t suspected_at_ = 0;
  // The thread that the active prompt belongs to.
  std::optional<Waiter> standing_;
  // The last check did not find it.
  bool is_missed_ = false;
  // Input was typed to this thread: it is not a prompt again until it has woken up, or has ignored a complete answer
  // for a while.
  std::optional<os::WaitingThread> spent_;
  std::optional<Prompt> prompt_;
  std::uint32_t last_serial_ = 0;
};

}  // namespace reeve::keeper
