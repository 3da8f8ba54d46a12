#pragma once

#include "ledger/unit.h"
#include "store/approvals.h"

// Questions in the store, with their events and audit entries; consequences of answers are handled elsewhere.
namespace reeve::ledger {

// APR-1: assigns an id, sends the event and records it.
base::ApprovalId open_question(Transaction& transaction, store::ApprovalRow row);

// The data shown with a human node's question (GRF-12): `description`, and `inputs` without names that contain a node.
// Bounded: long values are cut or left out. Nothing if there is none.
std::optional<base::Value> make_node_arguments(const std::optional<std::string>& description,
                                               const base::Value& inputs);

// The question, locked until the end of the transaction; nothing if there is none. Throws AggregateBusy if another
// transaction holds it.
std::optional<store::ApprovalRow> lock_question(Transaction& transaction, base::ApprovalId id);

// Sends the event of an open question: when it is asked, and a reminder at half of its time.
enum class Telling { first, reminder };
void tell_question(Transaction& transaction, const model::Approval& approval, Telling telling);

struct Closing {
  model::ApprovalStatus status = model::ApprovalStatus::expired;
  std::optional<std::string> chosen_value;
  // As in model::Approval.
  std::optional<std::string> answer = {};
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  // The actor for the audit trail, and the reason.
  std::string actor = "reeve";
  std::optional<std::string> reason;
  // As in engine::Answer.
  std::optional<std::string> note = {};
};

// Moves a question from pending to decided or expired, exactly once: if it is no longer pending, the transaction
// conflicts.
void close_question(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing);
// The record as it is after the closing.
model::Approval make_closed(const store::ApprovalRow& row, const Closing& closing, base::WallTime now);
// Uses a grant, or makes it void, exactly once: if it was not unused, the transaction conflicts. The entry names the
// attempt that uses it.
void write_use(Transaction& transaction, const model::Approval& approval, model::ApprovalUse use, int attempt,
               const std::optional<std::string>& reason = {});
// Writes the event and the audit entry of a stored decision.
void tell_decision(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing);

}  // namespace reeve::ledger
