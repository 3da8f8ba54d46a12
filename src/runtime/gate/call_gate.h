#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "ledger/tool_calls.h"
#include "runtime/gate/call_facts.h"
#include "runtime/gate/fact_thread.h"
#include "runtime/gate/hosted_calls.h"
#include "runtime/runs/supervisor.h"
#include "wire/tool_call.h"

namespace reeve::runtime {

// The gate that every tool call passes (TOOL-1 … TOOL-9): whatever the channel, a call is looked up, decided, stored
// and answered here. Nothing is answered before its record is committed. Lives on the loop.
class CallGate {
 public:
  CallGate(RuntimeContext& context, Supervisor& supervisor, FactThread& facts);
  CallGate(const CallGate&) = delete;
  CallGate& operator=(const CallGate&) = delete;

  using Done = std::function<void(std::expected<wire::CallReply, base::Error>)>;

  // A call of the run's agent. The same call (id, tool, arguments, folder) gets the same answer however often it is
  // asked. With `execute`, the tool host runs an allowed call, once, and the reply has its result. Errors:
  // `call.bad_request`, `call.too_many`, `call.unknown_tool`, `run.not_running`.
  void ask(base::RunId run, wire::CallRequest request, Done done);
  // `call` is Reeve's id of the call or the agent's own. Errors: `call.not_found`, also for calls of other runs.
  // The answer, if there is one: it then counts as handed out.
  void read(base::RunId run, const std::string& call, Done done);
  // What became of a call that the agent ran itself.
  void report(base::RunId run, const std::string& call, wire::CallReport report, Done done);
  // The agent continued without the answer.
  void withdraw(base::RunId run, const std::string& call, Done done);
  // Errors: `call.bad_request`, `call.too_many`.
  void note_session(base::RunId run, const wire::SessionReport& report,
                    std::function<void(const std::optional<base::Error>&)> done);

  // An attempt of the run has ended: the tool host stops what it does for it.
  void on_run_over(base::RunId run) { hosted_.on_run_over(run); }

 private:
  struct Question;
  struct Prepared;
  struct Matter;
  static Prepared prepare(const Question& question);
  void store(const std::shared_ptr<Matter>& matter, Prepared prepared);
  void answer(const std::shared_ptr<Matter>& matter, ledger::CallStored stored);
  // The call was closed by the agent itself: the run does not wait for it, and its clock goes on (RUN-3).
  void stop_waiting(const ledger::CallStored& stored);
  // `run.not_running`, `approval.gate_asks`
  LiveRun& find_asker(base::RunId run);

  RuntimeContext& context_;
  Supervisor& supervisor_;
  FactThread& facts_;
  HostedCalls hosted_;
};

}  // namespace reeve::runtime
