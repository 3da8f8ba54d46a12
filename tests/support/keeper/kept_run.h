#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "keeper/message.h"
#include "keeper/records.h"
#include "os/fd.h"
#include "tests/support/files.h"

namespace reeve::testing {

// Root hides refusals: what is asked of the kernel is asked as somebody else too.
enum class User { own, nobody };
inline constexpr uid_t nobody_id = 65'534;
// Does that; true when this process is that user now, or never was root.
bool become(User user);

// A run held by a keeper, without a daemon: the test says what a daemon would say.
class KeptRun {
 public:
  using Argv = std::vector<std::string>;
  struct Setting {
    User user = User::own;
    keeper::Assign::Mode mode = keeper::Assign::Mode::pty;
    // Beside PATH, TERM and HOME (the folder of the run).
    std::vector<std::string> environment = {};
  };
  explicit KeptRun(const Argv& argv, Setting setting);
  // Ends the tool and waits for the keeper.
  ~KeptRun();
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;

  // The next one; nothing when none came in time.
  std::optional<keeper::Prompt> wait_for_prompt(std::chrono::milliseconds most = std::chrono::seconds(20));
  bool wait_for_over(std::uint32_t serial);
  bool wait_for_output(std::string_view text);
  std::optional<keeper::ExitRecord> wait_for_exit();
  // Whether it was taken; nothing when the keeper does not say.
  std::optional<bool> answer(std::uint64_t number, std::uint32_t serial, std::string_view bytes);
  void send(const keeper::ToKeeper& message);
  const std::string& output() const noexcept { return output_; }

  // Leaves the keeper alone and connects to its socket, as the next daemon does.
  bool reconnect();

 private:
  template <class Condition>
  bool wait_until(std::chrono::milliseconds most, Condition is_met);
  void receive();
  void read_output();

  ScratchFolder scratch_;
  std::string attempt_;
  std::string seats_;
  pid_t keeper_ = -1;
  os::Fd socket_;
  std::string seat_;
  bool has_exited_ = false;
  std::string output_;
  std::deque<keeper::Prompt> prompts_;
  std::set<std::uint32_t> over_;
  std::deque<keeper::AnswerTaken> taken_;
};

}  // namespace reeve::testing
