#pragma once

#include <optional>
#include <string>

#include "base/id.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"
#include "runtime/isolation/worktree_folder.h"

namespace reeve::runtime {

// Throwaway checkouts for gates. They are not in the store: their name and lock reason tell whose they are. Making one
// again replaces it.
class GateCheckouts {
 public:
  explicit GateCheckouts(IsolationContext& context) : context_(context) {}

  // See Isolation::checkout(), check_out_merge() and renew_checkout().
  PreparedFolder make(const IsolationSettings& settings, const NodeAttemptId& place,
                      const std::optional<std::string>& commit, const std::string& name);
  PreparedFolder make_merge(const IsolationSettings& settings, const Isolation::GateCheck& check,
                            const std::string& gate);
  PreparedFolder renew(const IsolationSettings& settings, base::ExecutionId root, const Isolation::Checkout& checkout);
  // Ignores folders that are not throwaway checkouts.
  void discard(const IsolationSettings& settings, const std::string& folder);
  void remove_all(const ExecutionBranch& branch);

 private:
  PreparedFolder make(const IsolationSettings& settings, const ExecutionBranch& branch, const std::string& words,
                      const std::string& commit);

  IsolationContext& context_;
};

}  // namespace reeve::runtime
