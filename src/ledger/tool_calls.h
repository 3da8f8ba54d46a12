#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/call_gate.h"
#include "ledger/questions.h"
#include "ledger/run_consequence.h"
#include "ledger/runs.h"
#include "model/approval.h"
#include "model/tool_call.h"
#include "store/tool_calls.h"

// Tool calls (TOOL-3, TOOL-7): each is decided, stored and answered once. A call is identified by run, native id and
// digest; a retry of the same call gets the same answer.
namespace reeve::ledger {

struct CallAttempt {
  // The live attempt that calls.
  AttemptClaim claim;
  // What the rules look at, with Reeve's names; arguments as they came.
  engine::CallSubject subject;
  // engine::digest_of_call().
  std::string digest;
  // For the record: session, names, channel; all of it redacted, and the arguments bounded, by the caller.
  model::ToolCall record;
  bool may_defer = false;
  // The tool host runs it.
  bool is_hosted = false;
  // Used if a person decides: question, options, context, arguments, expiry, risk, advisory; the rest is filled in.
  model::Approval question;
  // What is left of the hard timeout of the run, which is paused while a call waits (RUN-3).
  std::optional<std::int64_t> time_left_ms = {};
};

struct CallStored {
  model::Run run;
  store::CallRow row;
  // The approval that was created by this call.
  std::optional<model::Approval> asked = {};
  // The approval that decides or decided it, for the comment.
  std::optional<model::Approval> approval = {};
};

// Decides by policies and standing grants, and stores the call with its audit entry:
//   allow, deny   answered at once; deny sends `policy_denied`
//   ask           an approval of kind `tool_call`; the run becomes waiting_approval
// The same call (native id and digest) in the same attempt gets the stored state, and so does one that its session ran
// in an earlier attempt; throws `call.not_allowed` if only one of the two requests wants the tool host to run it. A
// call that an earlier attempt left deferred continues, recognised by native id and digest, else by digest alone, the
// oldest first; its answer is handed out to one attempt only. Nothing if the claim is no longer current.
std::optional<CallStored> store_call(Transaction& transaction, base::RunId run, const model::Policies& policies,
                                     const CallAttempt& attempt);

// Hands out the answer of a call to the attempt: an approval is used here, once (APR-7). A repeated request of the same
// attempt gets it again until the agent has reported the result; then, and for another attempt, it is a denial. Without
// effect while the call waits.
std::optional<CallStored> take_answer(Transaction& transaction, base::CallId id, int attempt);

// In the transaction that closes an approval of kind `tool_call`: answers the call. The run is running again when
// nothing of it waits any more; a released run resumes then, on any answer, expiry included (APR-8).
std::optional<RunConsequence> follow_call_answer(Transaction& transaction, const store::ApprovalRow& row,
                                                 const Closing& closing);

// In the transaction that stores the end of an attempt. With `is_released` (exit 90), calls that wait or whose answer
// was not taken become `deferred`. Otherwise their approvals expire and they are `withdrawn`; allowed calls without a
// result are `lost`.
struct CallsLeft {
  // Deferred and waiting for a person.
  int waiting = 0;
  // Deferred and answered: the run resumes at once.
  int answered = 0;
};
CallsLeft leave_calls(Transaction& transaction, const model::Run& run, int attempt, bool is_released);
// The same counts without changing anything, for a daemon that starts.
CallsLeft count_deferred(store::Session& session, base::RunId run);
// The approvals that calls of this attempt wait for, for a daemon that adopts the run.
std::vector<base::ApprovalId> find_waiting_calls(store::Session& session, base::RunId run, int attempt);
// Released runs of a host whose calls are all answered, and which have not resumed (APR-13).
std::vector<base::RunId> find_released(store::Session& session, const std::string& host, std::int64_t most);

// What became of a call that the agent ran itself. Refused if it was not allowed: the outcome is then `ungated`.
struct CallReport {
  bool failed = false;
  std::optional<std::string> digest = {};
  std::optional<std::int64_t> bytes = {};
  std::optional<std::int64_t> duration_ms = {};
};
std::optional<CallStored> report_call(Transaction& transaction, base::RunId run, base::CallId id,
                                      const CallReport& report);
// The session continued without the call: its approval expires.
std::optional<CallStored> withdraw_call(Transaction& transaction, base::RunId run, base::CallId id);

// The tool host begins a call: true for the first caller only, and only if it is allowed. After this commit it may have
// run, and is never begun again.
bool begin_hosted(Transaction& transaction, base::CallId id, const AttemptClaim& claim,
                  std::optional<base::RunId> child = {});
void end_hosted(Transaction& transaction, base::CallId id, bool failed, const std::string& result_json,
                std::int64_t duration_ms);

}  // namespace reeve::ledger
