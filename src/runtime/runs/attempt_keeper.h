#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

#include "base/clock.h"
#include "keeper/message.h"
#include "os/fd.h"
#include "runtime/loop/loop.h"
#include "runtime/runs/input_tickets.h"
#include "runtime/runs/keeper_link.h"
#include "runtime/runs/tool_lines.h"

namespace reeve::runtime {

// The keeper of one attempt as this daemon knows it: whether the tool was told to start, what the keeper can do, and
// the input and requests that wait until it has said so. Lives on the loop.
class AttemptKeeper {
 public:
  explicit AttemptKeeper(Loop& loop) noexcept : loop_(loop) {}
  AttemptKeeper(const AttemptKeeper&) = delete;
  AttemptKeeper& operator=(const AttemptKeeper&) = delete;

  // Those messages that are handled here are not passed on. A handler may destroy this object.
  using Events = KeeperLink::Events;
  // An idle keeper of this installation. The tool starts with go().
  void begin(Loop::Own<KeeperLink> link, Events events);
  // Connects to a keeper whose tool was started under an earlier daemon.
  void adopt(os::Fd socket, Events events);

  // Nothing happens without a connection.
  void send(const keeper::ToKeeper& message);
  void go();
  // Gives up a tool that was not told to start: its keeper exits, and nothing has run. False if it was.
  bool drop_unstarted();
  // The keeper is gone: whatever waits for it is answered.
  void close();

  // Whether the tree can be stopped; an adopted keeper may say it a moment after it was connected.
  enum class Freezing { possible, unknown, impossible };
  Freezing freezing() const;
  // Stops the tree, or lets it continue: as soon as the keeper has said that it can. A tool that was not told to start
  // is not started, or starts now: then the result is true.
  void freeze();
  bool thaw();

  // Answers false if the buffer is full or nothing reads the input.
  void send_input(std::string bytes, std::function<void(bool)> done);
  void send_line(std::string line, ToolLines::Done done);

  // Of the tool, once the keeper has reported it.
  std::optional<pid_t> tool_pid() const noexcept { return tool_pid_; }

 private:
  KeeperLink::Events link_events();
  void on_message(const keeper::FromKeeper& message);
  void on_abilities(const keeper::Abilities& abilities);
  void on_line_taken(const keeper::InputLineTaken& taken);
  void send_freeze(bool is_frozen);
  void send_next_line();

  Loop& loop_;
  Events events_;
  Loop::Own<KeeperLink> link_;
  base::BootTime connected_at_;
  // Paused before it began: the keeper waits for Go.
  bool awaits_go_ = false;
  std::optional<keeper::Abilities> abilities_;
  std::optional<bool> unsent_freeze_;
  std::optional<pid_t> tool_pid_;
  InputTickets inputs_;
  ToolLines lines_;
  bool takes_lines_ = false;
  Loop::Hold line_retry_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
