#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "git/repository.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"

namespace reeve::runtime {

// The only code that writes to the user's checkout (ISO-3). Has no state of its own.
class CheckoutWriter {
 public:
  explicit CheckoutWriter(IsolationContext& context) : context_(context) {}

  struct Target {
    // Keeps the commit alive until it is in the checkout.
    std::string ref;
    // See GateCheck; empty means that no gate runs.
    std::string name;
    // Makes the commit to move the checkout to, given its current one.
    std::function<git::Repository::Merged(const std::string& head)> make;
  };
  struct Outcome {
    // `unchecked`: the gates in `check` must run first.
    enum class Kind { written, conflicted, refused, unchecked };
    Kind kind = Kind::written;
    std::string commit;
    std::vector<std::string> conflicts;
    base::Error why{{}, ""};
    std::optional<Isolation::GateCheck> check = {};
  };
  // Called with the checkout lock held. Writes only if the checkout is clean and all gates have passed on the tree.
  Outcome update(const ExecutionBranch& branch, const Target& target);
  // Completes or undoes checkout updates that were interrupted by a kill.
  void recover_all();

 private:
  // ISO-3: the gates that have not passed on that commit's tree.
  std::optional<Isolation::GateCheck> find_check(const ExecutionBranch& branch, const Target& target,
                                                 const std::string& commit);
  Outcome write(const ExecutionBranch& branch, const Target& target, const std::string& commit);

  IsolationContext& context_;
};

}  // namespace reeve::runtime
