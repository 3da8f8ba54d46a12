#pragma once

#include <optional>
#include <vector>

#include "model/patch.h"
#include "store/session.h"

namespace reeve::store {

struct PatchRow {
  model::Patch patch;
  std::int64_t version = 0;
};

// The node attempt that made the patch.
struct PatchPlace {
  base::ExecutionId root{0};
  base::ExecutionId execution{0};
  std::string node_id;
  int iteration = 0;
  int attempt = 0;
};

// With its diff.
std::optional<PatchRow> find_patch(Session& session, base::PatchId id);
// These without.
std::optional<PatchRow> find_patch(Session& session, const PatchPlace& place);
// Oldest first.
std::vector<PatchRow> find_patches(Session& session, base::ExecutionId root);

// Newest first.
struct PatchFilter {
  // The execution that made them, or on whose branch they were made.
  std::optional<base::ExecutionId> execution = {};
  // The path of their project; not combined with `execution`.
  std::optional<std::string> project = {};
  // Empty: all.
  std::vector<model::PatchState> states = {};
  // Only entries before this one.
  std::optional<base::PatchId> before = {};
  std::int64_t most = 50;
};
std::vector<model::Patch> list_patches(Session& session, const PatchFilter& filter);

// Inserted in state `created`; the store assigns the id.
base::PatchId insert_patch(Session& session, const model::Patch& patch, const std::string& now);
// Writes state, history and the commits on branch and checkout. Throws Conflict if the row has changed.
void write_patch_move(Session& session, const PatchRow& row);
// Writes the changes, while the patch is `created`.
void write_patch_change(Session& session, const PatchRow& row);

}  // namespace reeve::store
