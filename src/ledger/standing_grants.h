#pragma once

#include <string>
#include <vector>

#include "ledger/unit.h"
#include "model/grant.h"
#include "store/tool_calls.h"

// Standing grants (TOOL-8): made by a person from an approval, listed, revoked, used.
namespace reeve::ledger {

// The store assigns the id. Sends `grant_created`'s audit entry. The grant says by whom.
model::Grant create_grant(Transaction& transaction, model::Grant grant);

// Nothing if there is none. A grant that was revoked already stays as it was.
std::optional<model::Grant> revoke_grant(Transaction& transaction, base::GrantId id, const std::string& by);

// Those that apply to a call of this run now: not expired, not revoked, of this agent and tool, and of this run, its
// execution or its project.
std::vector<model::Grant> find_standing(Transaction& transaction, const model::Run& run, const std::string& agent,
                                        const std::string& tool);
// Counts a use.
void use_standing(Transaction& transaction, base::GrantId id);

}  // namespace reeve::ledger
