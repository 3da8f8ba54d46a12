#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "ledger/patches.h"
#include "model/config.h"
#include "model/patch.h"
#include "runtime/isolation/checkout_writer.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/patch_ledger.h"

namespace reeve::runtime {

// Applies branches and single patches to the user's checkout, and rolls patches back (ISO-3). The patch states in the
// store show the progress, so every operation can be repeated after a crash. All members throw base::Error.
class CheckoutApply {
 public:
  using Applied = Isolation::Applied;

  CheckoutApply(IsolationContext& context, PatchLedger& patches)
      : context_(context), patches_(patches), writer_(context) {}

  // If the result has `check`, run those gates and call again.
  Applied apply(base::ExecutionId root, model::ApplyWhen mode);
  Applied apply_patch(base::PatchId id, const std::string& by);
  // Called when a gate did not pass: queued patches stay queued, with the reason.
  Applied hold_back(base::ExecutionId root, const std::string& why);
  Applied hold_back(base::PatchId id, const std::string& why);
  // Requested by a person.
  model::Patch roll_back(base::PatchId id, const std::string& by);
  // See CheckoutWriter.
  void recover_checkouts() { writer_.recover_all(); }

  // Whether a question whether to apply the branch waits for its answer, or its answer for being carried out.
  bool has_open_question(base::ExecutionId root);
  // See Isolation::diff(). Error: `patch.gone` if git no longer has the commits.
  std::optional<Isolation::BranchDiff> diff(base::ExecutionId root);

  // Why a gate blocked the last attempt to apply `name` ("EX-9", "PA-3"), if one did.
  std::optional<std::string> find_refusal(base::ExecutionId root, const std::string& name);
  // The checkout that the changes are applied to; empty if unknown here.
  std::string find_checkout(base::ExecutionId root);
  // Executions whose apply was approved.
  std::vector<base::ExecutionId> find_granted();

 private:
  Applied merge_branch(const ExecutionBranch& branch, const std::vector<store::PatchRow>& patches);
  // A git error is also recorded in the patches, which stay queued.
  CheckoutWriter::Outcome write_merge(const ExecutionBranch& branch, const std::string& ref,
                                      const std::vector<store::PatchRow>& patches);
  Applied apply_patch(const ExecutionBranch& branch, const model::Patch& patch, const std::string& by);

  IsolationContext& context_;
  PatchLedger& patches_;
  CheckoutWriter writer_;
};

}  // namespace reeve::runtime
