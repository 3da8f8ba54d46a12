#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "model/config.h"
#include "runtime/approvals/approvals.h"
#include "runtime/gate/fact_thread.h"
#include "runtime/gate/grant_draft.h"
#include "wire/grant.h"
#include "wire/tool_call.h"

namespace reeve::runtime {

// Makes standing grants from approvals (TOOL-8). Callers must be people: the daemon's owner at its socket, or a token
// with the scope `admin`; never a process inside a run. Lives on the loop.
class CallGrants {
 public:
  // The policies of the config of the project with this path; empty: the daemon's own. Called on the loop; may throw.
  using PolicySource = std::function<model::Policies(const std::string& project)>;
  CallGrants(RuntimeContext& context, Approvals& approvals, PolicySource policies);
  CallGrants(const CallGrants&) = delete;
  CallGrants& operator=(const CallGrants&) = delete;

  template <class T>
  using Done = std::function<void(std::expected<T, base::Error>)>;

  // What a grant on these terms would allow. Errors: `approval.not_found`, `grant.refused`.
  void preview(base::ApprovalId id, wire::GrantTerms terms, Done<wire::GrantPreview> done);
  // Approves, and stores the grant in the same transaction: neither exists without the other. Errors: those of
  // Approvals::decide(), `grant.refused`, `grant.unconfirmed`.
  void approve(base::ApprovalId id, wire::GrantTerms terms, Approvals::Decision decision, Approvals::Answered answered);
  // `grant.not_found`. Calls that it has already allowed continue.
  void revoke(base::GrantId id, const std::string& by, Done<model::Grant> done);

  struct SuggestionTerms {
    std::optional<base::RunId> run = {};
    // The path of a project; not combined with `run`.
    std::string project = {};
    // Only calls that are not older.
    std::optional<base::Milliseconds> since = {};
  };
  // Rules that would have allowed what was approved among the last calls.
  void suggest(const SuggestionTerms& terms, Done<wire::PolicySuggestions> done);

  FactThread& facts() noexcept { return facts_; }
  // The PATH that tools receive from the daemon.
  std::string default_path() const;

 private:
  void draft(base::ApprovalId id, wire::GrantTerms terms, Done<std::optional<GrantDraft>> done);

  RuntimeContext& context_;
  Approvals& approvals_;
  PolicySource policies_;
  // Declared last: its work uses the members above.
  FactThread facts_;
};

}  // namespace reeve::runtime
