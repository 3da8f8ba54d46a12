#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "model/patch.h"

// Requests about patches (ISO-4).
namespace reeve::client {

struct PatchRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::Patch patch;
};

struct PatchSelection {
  // Empty: all.
  std::vector<std::string> states = {};
  std::optional<base::ExecutionId> execution = {};
  // The path of their project.
  std::optional<std::string> project = {};
};
// Newest first, without diffs.
std::vector<PatchRecord> list_patches(Daemon& daemon, const PatchSelection& selection, std::size_t limit);
PatchRecord get_patch(Daemon& daemon, base::PatchId id);
// "apply", "drop" or "rollback"; returns the record after it.
PatchRecord act_on_patch(Daemon& daemon, base::PatchId id, std::string_view action);

}  // namespace reeve::client
