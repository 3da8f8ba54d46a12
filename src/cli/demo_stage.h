#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "client/approvals.h"
#include "client/runs.h"
#include "os/signals.h"
#include "view/status.h"

// What `reeve demo` shows and waits for.
namespace reeve::cli {

// The person wants no more of it: SIGINT, SIGTERM, SIGHUP.
struct DemoInterrupted {
  int number = 0;
};

// Lines on standard output; with --json none. Ctrl-C is noticed wherever it waits, and thrown as DemoInterrupted: what
// is on the stack clears away behind itself.
class DemoStage {
 public:
  explicit DemoStage(const Call& call) : call_(call) {}

  void title(std::string_view text) const;
  // As one would type it.
  void command(std::string_view text) const;
  void line(std::string_view text) const;
  void line(const view::Look& look, std::string_view text) const;
  // What a tool printed, made harmless; of an event what it says.
  void tool_line(std::string_view text) const;

  // One attempt of a run: each whole line that it prints goes to `take`. Returns when the run waits or is over.
  using TakeLine = std::function<void(std::string_view line)>;
  client::RunRecord follow(client::Daemon& daemon, base::RunId run, int attempt, const TakeLine& take) const;
  // Until the run has begun that attempt, or is over without it.
  client::RunRecord wait_for_attempt(client::Daemon& daemon, base::RunId run, int attempt) const;

  // Until somebody has answered: the person here, or anybody else. `look` is called when the person wants to see more.
  struct Answered {
    client::ApprovalRecord record;
    bool is_from_here = false;
  };
  Answered ask(client::Daemon& daemon, const model::Approval& approval, const std::function<void()>& look) const;

  void check() const;

 private:
  void prompt() const;
  // The next line of the person; empty when an event came first.
  std::string wait_for_line_or_event(client::Connection& events) const;

  const Call& call_;
  mutable os::SignalInbox signals_{SIGINT, SIGTERM, SIGHUP};
};

}  // namespace reeve::cli
