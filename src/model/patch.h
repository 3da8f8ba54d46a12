#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"
#include "model/project_ref.h"

// The changes made by a node, until they are in the user's checkout (ISO-4).
namespace reeve::model {

enum class PatchState {
  created,
  validated,
  queued,
  applied,
  verified,
  committed,
  apply_failed,
  conflicted,
  rejected,
  quarantined,
  rolled_back,
  dropped
};
REEVE_DESCRIBE_ENUM(PatchState, created, validated, queued, applied, verified, committed, apply_failed, conflicted,
                    rejected, quarantined, rolled_back, dropped)

bool can_move(PatchState from, PatchState to) noexcept;
bool is_final(PatchState state) noexcept;

struct PatchFile {
  std::string path;
  std::int64_t added = 0;
  std::int64_t removed = 0;
  // The change deletes it, and its content is not elsewhere in the change. False in patches of versions before this
  // was recorded.
  bool is_deleted = false;
  friend bool operator==(const PatchFile&, const PatchFile&) = default;
};
BOOST_DESCRIBE_STRUCT(PatchFile, (), (path, added, removed, is_deleted))

struct PatchStep {
  PatchState state = PatchState::created;
  base::WallTime at;
  std::optional<std::string> reason;
  friend bool operator==(const PatchStep&, const PatchStep&) = default;
};
BOOST_DESCRIBE_STRUCT(PatchStep, (), (state, at, reason))

struct Patch {
  base::PatchId patch_id{0};
  // That of its execution; not stored with the patch.
  std::optional<ProjectRef> project = {};
  base::ExecutionId execution_id{0};
  // The execution whose branch the patch belongs to: its own, or the one that started the subgraph.
  base::ExecutionId root_id{0};
  std::string node_id;
  int iteration = 0;
  int attempt = 0;
  std::string base_commit;
  // The changes, as a commit on top of `base_commit`.
  std::string commit;
  // The commit on the execution's branch once accepted, and in the user's checkout once applied.
  std::optional<std::string> branch_commit;
  std::optional<std::string> applied_commit;
  std::vector<PatchFile> files;
  // Empty in listings.
  std::string diff;
  PatchState state = PatchState::created;
  std::vector<PatchStep> history;
  base::WallTime created_at;
  friend bool operator==(const Patch&, const Patch&) = default;
};
BOOST_DESCRIBE_STRUCT(Patch, (),
                      (patch_id, project, execution_id, root_id, node_id, iteration, attempt, base_commit, commit,
                       branch_commit, applied_commit, files, diff, state, history, created_at))

}  // namespace reeve::model
