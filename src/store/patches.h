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

// Which attempt of which node made it.
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
  // That made them, or on whose branch they were made.
  std::optional<base::ExecutionId> execution = {};
  // None: all.
  std::vector<model::PatchState> states = {};
  // Only those before it.
  std::optional<base::PatchId> before = {};
  std::int64_t most = 50;
};
std::vector<model::Patch> list_patches(Session& session, const PatchFilter& filter);

// In state `created`; its id is given by the store.
base::PatchId insert_patch(Session& session, const model::Patch& patch, const std::string& now);
// State, history and commits of the branch and the checkout, when nobody was faster.
void write_patch_move(Session& session, const PatchRow& row);
// What was changed, while it is `created`.
void write_patch_change(Session& session, const PatchRow& row);

}  // namespace reeve::store
