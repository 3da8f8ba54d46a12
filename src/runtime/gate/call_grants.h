#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "engine/grants.h"
#include "model/config.h"
#include "runtime/approvals/approvals.h"
#include "runtime/gate/fact_thread.h"
#include "store/tool_calls.h"
#include "wire/grant.h"
#include "wire/tool_call.h"

namespace reeve::runtime {

// No grant lasts longer.
inline constexpr base::Milliseconds max_grant_time = std::chrono::hours(24 * 30);

// The call that an approval asks about, as stored.
struct AskedCall {
  model::Approval approval;
  model::ToolCall call;
  model::Run run;
  // Of the node that the run belongs to; empty: none.
  std::string role;
};
// Throws `approval.not_found`, and `grant.refused` if the approval asks about something else.
AskedCall find_asked_call(store::Session& session, base::ApprovalId id);

// `grant.not_found`
base::Error grant_not_found(base::GrantId id);

// A grant that can be made, and what a person must know about it.
struct GrantDraft {
  // Without id, maker and times.
  model::Grant grant;
  base::Milliseconds time = model::default_grant_time;
  std::vector<std::string> also_allows;
};
// What is known about the call besides its record.
struct CallFacts {
  engine::CallSubject subject;
  // The stored arguments are those that the agent sent: nothing was cut or redacted, and the folder is still the same.
  bool is_complete = false;
};
// Throws `grant.refused` with what to do instead. Pure.
GrantDraft draft_grant(const AskedCall& asked, const CallFacts& facts, const model::Policies& policies,
                       const wire::GrantTerms& terms);
// The text that confirms a draft; nothing if it allows nothing else.
std::optional<std::string> find_confirmation(const GrantDraft& draft);
// Throws `grant.unconfirmed`, which carries the preview, unless the person has seen what else the grant allows.
void require_confirmation(const GrantDraft& draft, const wire::GrantTerms& terms);

// Reads the facts of a stored call; may wait for a slow file system. `run_folder` has the launch file.
CallFacts read_call_facts(const AskedCall& asked, const std::string& run_folder, const std::string& default_path);

// Makes standing grants from approvals (TOOL-8). Callers must be people: the daemon's owner at its socket, or a token
// with the scope `admin`; never a process inside a run. Lives on the loop.
class CallGrants {
 public:
  // The policies that apply in the project with this path; empty: the daemon's own. Called on the loop; may throw.
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
