#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "client/approvals.h"
#include "client/runs.h"
#include "os/signals.h"
#include "view/status.h"

// The output and prompts of `reeve demo`.
namespace reeve::cli {

// The user interrupted the demo: SIGINT, SIGTERM, SIGHUP.
struct DemoInterrupted {
  int number = 0;
};

// Prints lines on standard output; none with --json. Ctrl-C is noticed in every wait and thrown as DemoInterrupted, so
// that destructors clean up.
class DemoStage {
 public:
  explicit DemoStage(const Call& call) : call_(call) {}

  void title(std::string_view text) const;
  // A command as the user would type it.
  void command(std::string_view text) const;
  void line(std::string_view text) const;
  void line(const view::Look& look, std::string_view text) const;
  // A tool's output, sanitized; for an event, its text.
  void tool_line(std::string_view text) const;

  // Follows one attempt of a run and passes each complete line to `take`. Returns when the run waits or has ended.
  using TakeLine = std::function<void(std::string_view line)>;
  client::RunRecord follow(client::Daemon& daemon, base::RunId run, int attempt, const TakeLine& take) const;
  // Waits until the run has begun that attempt, or has ended without it.
  client::RunRecord wait_for_attempt(client::Daemon& daemon, base::RunId run, int attempt) const;

  // Waits for the answer, given here or elsewhere. Calls `look` when the user asks to see more.
  struct Answered {
    client::ApprovalRecord record;
    bool is_from_here = false;
  };
  Answered ask(client::Daemon& daemon, const model::Approval& approval, const std::function<void()>& look) const;

  void check() const;

 private:
  void prompt() const;
  // The next typed line; empty if an event came first.
  std::string wait_for_line_or_event(client::Connection& events) const;

  const Call& call_;
  mutable os::SignalInbox signals_{SIGINT, SIGTERM, SIGHUP};
};

}  // namespace reeve::cli
