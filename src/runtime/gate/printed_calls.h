#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "runtime/approvals/approvals.h"
#include "runtime/gate/call_gate.h"
#include "runtime/inbox/event.h"

namespace reeve::runtime {

// Tool calls in the output of tools that speak Reeve's protocol (TOOL-4): each is decided, run by the tool host, and
// answered with one line on the tool's standard input:
//   {"event":"tool_result","id":"c1","content":"…"}
//   {"event":"tool_error","id":"c1","error":"…","denied":true}
// A call is kept in a file of its attempt until its answer is written, so that a daemon that finds the run continues
// it; after a crash, the same answer may come twice. Lives on the loop.
class PrintedCalls {
 public:
  PrintedCalls(RuntimeContext& context, Supervisor& supervisor, Approvals& approvals, CallGate& gate,
               FactThread& facts);
  PrintedCalls(const PrintedCalls&) = delete;
  PrintedCalls& operator=(const PrintedCalls&) = delete;

  void on_printed(CallPrinted call);
  // A run has become live here: calls that an earlier daemon left are continued.
  void on_run_live(base::RunId run);
  void on_run_over(base::RunId run);

 private:
  // Identifies a call of one attempt: the name of its file.
  using Key = std::pair<base::RunId, std::string>;
  struct Printed {
    Key key;
    int attempt = 1;
    std::string file;
    std::string id;
    std::string tool;
    base::Value arguments;
  };

  void begin(const Printed& call);
  void on_reply(const Printed& call, const std::expected<wire::CallReply, base::Error>& reply);
  void send(const Printed& call, const base::Value& answer);
  void finish(const Printed& call);
  LiveRun* find(base::RunId run, int attempt) const;
  static std::vector<Printed> read_left(base::RunId run, int attempt, const std::string& folder);

  RuntimeContext& context_;
  Supervisor& supervisor_;
  Approvals& approvals_;
  CallGate& gate_;
  FactThread& facts_;
  // Calls without an answer, and the wait for the approval that decides them.
  std::map<Key, Loop::Hold> active_;
};

}  // namespace reeve::runtime
