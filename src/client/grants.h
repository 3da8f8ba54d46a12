#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/grant.h"
#include "wire/grant.h"
#include "wire/tool_call.h"

// Requests about standing grants. They are made with an approval (client/approvals.h).
namespace reeve::client {

struct GrantRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Grant grant;
};

struct GrantSelection {
  // Also those that have expired or were revoked.
  bool all = false;
  // The path of the only project to list.
  std::optional<std::string> project = {};
};
// Newest first.
std::vector<GrantRecord> list_grants(Daemon& daemon, const GrantSelection& selection, std::size_t limit);
GrantRecord get_grant(Daemon& daemon, base::GrantId id);
GrantRecord revoke_grant(Daemon& daemon, base::GrantId id);

// What a grant on these terms would allow; nothing is decided.
wire::GrantPreview preview_grant(Daemon& daemon, base::ApprovalId id, const wire::GrantTerms& terms);

}  // namespace reeve::client
