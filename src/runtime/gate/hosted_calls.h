#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/tool_calls.h"
#include "runtime/gate/host_threads.h"
#include "runtime/runs/supervisor.h"
#include "wire/tool_call.h"

namespace reeve::runtime {

// Calls that the tool host runs (TOOL-4), each at most once: that a call begins is committed before it does anything,
// and a call that had begun when a daemon died is never repeated. Lives on the loop.
class HostedCalls {
 public:
  HostedCalls(RuntimeContext& context, Supervisor& supervisor);
  // Tools that are at work are told to stop.
  ~HostedCalls();
  HostedCalls(const HostedCalls&) = delete;
  HostedCalls& operator=(const HostedCalls&) = delete;

  struct Call {
    base::RunId run{0};
    ledger::AttemptClaim claim;
    store::CallRow row;
    // As the agent sent them, with Reeve's names.
    base::Value arguments;
    // That the call is confined to, and that it works in.
    std::string folder;
    std::string cwd;
    // For a command: the folder that was decided about, which `cwd` names.
    std::optional<os::KnownFolder> command_folder;
    // SSH_AUTH_SOCK of the run; empty: none.
    std::string ssh_agent;
  };
  using Done = std::function<void(std::expected<wire::CallResult, base::Error>)>;
  // Runs a call that was allowed, or returns the result that it had. While it runs, further requests for it wait for
  // the same result. Errors: `call.not_allowed`.
  void run(Call call, Done done);

  // Calls of the run that have begun are told to stop; their runs are cancelled.
  void on_run_over(base::RunId run);

 private:
  // A call that has begun, or is about to.
  struct Active {
    base::RunId run{0};
    std::vector<Done> waiting;
    std::stop_source stop;
    std::optional<base::RunId> child;
    Loop::Hold child_over;
    bool is_child_over = false;
    base::BootTime begun;
  };
  void begin_tool(const Call& call);
  void begin_shell(const Call& call);
  void run_tool(const Call& call);
  void follow_shell(base::CallId call, base::RunId child);
  void on_shell_over(base::CallId call, const model::Run& child);
  void end(base::CallId call, wire::CallResult result);
  void finish(base::CallId call, const std::expected<wire::CallResult, base::Error>& result);

  RuntimeContext& context_;
  Supervisor& supervisor_;
  std::map<base::CallId, Active> active_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  // Declared last: its work uses the members above.
  HostThreads threads_;
};

}  // namespace reeve::runtime
