#pragma once

#include "ledger/unit.h"
#include "store/approvals.h"

// Questions in the store, with their events and audit entries; what follows from an answer is for others.
namespace reeve::ledger {

// APR-1: gives it an id, tells and records it.
base::ApprovalId open_question(Transaction& transaction, store::ApprovalRow row);

// What is shown with the question of a human node (GRF-12): `description`, and `inputs` without the names that have a
// node in them, bounded: what is too long is cut or left out. Nothing when there is nothing.
std::optional<base::Value> make_node_arguments(const std::optional<std::string>& description,
                                               const base::Value& inputs);

// The question, locked to the end of the transaction; nothing when there is none. Throws AggregateBusy while somebody
// else has it.
std::optional<store::ApprovalRow> lock_question(Transaction& transaction, base::ApprovalId id);

// Tells of a question that is open: when it is asked, and once more when half of its time is over.
enum class Telling { first, reminder };
void tell_question(Transaction& transaction, const model::Approval& approval, Telling telling);

struct Closing {
  model::ApprovalStatus status = model::ApprovalStatus::expired;
  std::optional<std::string> chosen_value;
  std::optional<std::string> comment;
  std::optional<std::string> decided_by;
  // Who is entered in the audit trail, and why.
  std::string actor = "reeve";
  std::optional<std::string> reason;
  // Of engine::Answer.
  std::optional<std::string> note = {};
};

// Pending to decided or expired, exactly once: when it is not pending any more the transaction conflicts.
void close_question(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing);
// The event and the audit entry of a decision that is stored.
void tell_decision(Transaction& transaction, const store::ApprovalRow& row, const Closing& closing);

}  // namespace reeve::ledger
