#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"

// What a node changed, on its way into the person's checkout (ISO-4).
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
  friend bool operator==(const PatchFile&, const PatchFile&) = default;
};
BOOST_DESCRIBE_STRUCT(PatchFile, (), (path, added, removed))

struct PatchStep {
  PatchState state = PatchState::created;
  base::WallTime at;
  std::optional<std::string> reason;
  friend bool operator==(const PatchStep&, const PatchStep&) = default;
};
BOOST_DESCRIBE_STRUCT(PatchStep, (), (state, at, reason))

struct Patch {
  base::PatchId patch_id{0};
  base::ExecutionId execution_id{0};
  std::string node_id;
  std::string base_commit;
  std::vector<PatchFile> files;
  std::string diff;
  PatchState state = PatchState::created;
  std::vector<PatchStep> history;
  friend bool operator==(const Patch&, const Patch&) = default;
};
BOOST_DESCRIBE_STRUCT(Patch, (), (patch_id, execution_id, node_id, base_commit, files, diff, state, history))

}  // namespace reeve::model
