#pragma once

#include <optional>
#include <string>

#include "ledger/runs.h"
#include "ledger/tool_calls.h"

// Rows of tool calls within a transaction. The lock of their run protects them.
namespace reeve::ledger {

struct LockedCall {
  store::RunRow run;
  store::CallRow row;
};
// Locks the run of the call and reads both; nothing if there is none. Throws AggregateBusy if another transaction holds
// the run.
std::optional<LockedCall> lock_call(Transaction& transaction, base::CallId id);

CallStored make_stored(Transaction& transaction, const model::Run& run, const store::CallRow& row);

// The fields of every event and audit entry about a call.
base::Value describe_call(const model::Run& run, const model::ToolCall& call);
// Sends and records that a call was denied without a person, or was made without being allowed.
void tell_denial(Transaction& transaction, const model::Run& run, const model::ToolCall& call,
                 const std::string& reason);

// Ends a call whose answer nobody will use: an open approval expires, an unused grant becomes void.
void withdraw_row(Transaction& transaction, base::CallId id, const std::optional<base::ApprovalId>& approval,
                  const std::string& reason);

}  // namespace reeve::ledger
