#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/call_subject.h"
#include "model/approval.h"
#include "model/grant.h"
#include "model/run.h"
#include "model/tool_call.h"
#include "runtime/runs/call_terms.h"
#include "store/session.h"
#include "wire/tool_call.h"

// Standing grants before they are stored: what a call would be granted, and what a person must know about it (TOOL-8).
namespace reeve::runtime {

// No grant lasts longer.
inline constexpr base::Milliseconds max_grant_time = std::chrono::hours(24 * 30);

// The call that an approval asks about, as stored.
struct AskedCall {
  model::Approval approval;
  model::ToolCall call;
  model::Run run;
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
  // What decides the calls of the run. Nothing if its launch file is not on this machine.
  std::optional<CallTerms> terms = {};
};
// Throws `grant.refused` with what to do instead. Pure.
GrantDraft draft_grant(const AskedCall& asked, const CallFacts& facts, const wire::GrantTerms& terms);
// The text that confirms a draft; nothing if it allows nothing else.
std::optional<std::string> find_confirmation(const GrantDraft& draft);
// Throws `grant.unconfirmed`, which carries the preview, unless the person has seen what else the grant allows.
void require_confirmation(const GrantDraft& draft, const wire::GrantTerms& terms);

// Reads the facts of a stored call; may wait for a slow file system. `run_folder` has the launch file.
CallFacts read_call_facts(const AskedCall& asked, const std::string& run_folder, const std::string& default_path);

}  // namespace reeve::runtime
