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

// Root bypasses permission checks: kernel interfaces are tested as another user too.
enum class User { own, nobody };
inline constexpr uid_t nobody_id = 65'534;
// Switches to that user; true if it succeeded, or the process was never root.
bool become(User user);

// A run held by a keeper, without a daemon: the test sends what a daemon would send.
class KeptRun {
 public:
  using Argv = std::vector<std::string>;
  struct Setting {
    User user = User::own;
    keeper::Assign::Mode mode = keeper::Assign::Mode::pty;
    // In addition to PATH, TERM and HOME (the folder of the run).
    std::vector<std::string> environment = {};
    std::optional<keeper::StartIn> start_in = {};
  };
  explicit KeptRun(const Argv& argv, Setting setting);
  // Ends the tool and waits for the keeper.
  ~KeptRun();
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;

  // The next prompt; nothing if none came in time.
  std::optional<keeper::Prompt> wait_for_prompt(std::chrono::milliseconds most = std::chrono::seconds(20));
  bool wait_for_over(std::uint32_t serial);
  bool wait_for_output(std::string_view text);
  std::optional<keeper::ExitRecord> wait_for_exit();
  // Whether it was accepted; nothing if the keeper does not reply.
  std::optional<bool> answer(std::uint64_t number, std::uint32_t serial, std::string_view bytes);
  // What the keeper answers to the last part of a line for the tool.
  std::optional<keeper::InputLineTaken::Outcome> send_line(const keeper::InputLine& line);
  void send(const keeper::ToKeeper& message);
  const std::string& output() const noexcept { return output_; }

  // Disconnects from the keeper and connects to its socket, as the next daemon does.
  bool reconnect();

 private:
  template <class Condition>
  bool wait_until(std::chrono::milliseconds most, Condition is_met);
  void receive();
  void read_output();

  ScratchFolder scratch_;
  std::string attempt_;
  std::string endpoints_;
  pid_t keeper_ = -1;
  os::Fd socket_;
  std::string endpoint_;
  bool has_exited_ = false;
  std::string output_;
  std::deque<keeper::Prompt> prompts_;
  std::set<std::uint32_t> over_;
  std::deque<keeper::AnswerTaken> taken_;
  std::deque<keeper::InputLineTaken> lines_;
};

}  // namespace reeve::testing
