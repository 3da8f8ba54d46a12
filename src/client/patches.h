#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "model/patch.h"

// What a client asks of patches (ISO-4).
namespace reeve::client {

struct PatchRecord {
  // As it came: what a later version knows more is not lost on the way to `--json`.
  base::Value wire;
  model::Patch patch;
};

struct PatchSelection {
  // None: all.
  std::vector<std::string> states = {};
  std::optional<base::ExecutionId> execution = {};
};
// Newest first, without diffs.
std::vector<PatchRecord> list_patches(Daemon& daemon, const PatchSelection& selection, std::size_t limit);
PatchRecord get_patch(Daemon& daemon, base::PatchId id);
// "apply", "drop", "rollback": the record as it is then.
PatchRecord act_on_patch(Daemon& daemon, base::PatchId id, std::string_view action);

}  // namespace reeve::client
