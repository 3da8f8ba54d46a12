#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ledger/unit.h"
#include "model/describe.h"

// Removes old records from the store in bounded batches (SPEC §7 `retention`). The files that belong to them are
// removed later by the host that has them: each batch also writes what is left to remove.
//
// Never removed: audit entries, records of unfinished work, what a pending approval or an unapplied patch refers to,
// and the latest number of each kind, so that no id is used again.
namespace reeve::ledger {

struct RetentionTerms {
  // Finished work that ended before that time is removed, with its events; nothing: all is kept.
  std::optional<base::WallTime> runs_before;
  // The output files of runs that ended before that time are removed.
  std::optional<base::WallTime> output_before;
  bool keep_failed = true;
  // Only counts.
  bool is_dry_run = false;
  // The host of this daemon.
  std::string host;
};

struct PruneCounts {
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  // Runs that only lose their output files.
  std::int64_t outputs = 0;
  std::int64_t events = 0;
  friend bool operator==(const PruneCounts&, const PruneCounts&) = default;
};
BOOST_DESCRIBE_STRUCT(PruneCounts, (), (runs, executions, outputs, events))

struct PruneProgress {
  enum class Phase { executions, runs, questions, outputs, events, done };
  Phase phase = Phase::executions;
  // The number up to which the phase is done.
  std::int64_t after = 0;
  PruneCounts counts;
};
// One batch, short enough for other units to wait for; returns where the next one continues.
PruneProgress prune_batch(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress);

// A store is pruned by one daemon at a time. Returns the number of the new prune; nothing while another one holds that
// right.
std::optional<std::int64_t> begin_prune(Transaction& transaction, const std::string& actor);
// Renews the right; a conflict if it was lost.
void hold_prune(Transaction& transaction, std::int64_t prune);
void end_prune(Transaction& transaction, std::int64_t prune, const PruneCounts& counts);

// Whether automatic retention has something to look for: the last prune is long ago, and the oldest event is older than
// `before`. Cheap.
bool is_prune_due(Transaction& transaction, base::WallTime before);

enum class RemovalKind { run, branch, patch };
REEVE_DESCRIBE_ENUM(RemovalKind, run, branch, patch)

// Something that this host has to remove.
struct Removal {
  std::int64_t number = 0;
  RemovalKind kind = RemovalKind::run;
  // The number of the run, execution or patch.
  std::int64_t subject = 0;
  // Of a branch or patch: its repository, the execution whose branch it belongs to, and the commit of its ref.
  std::string project = {};
  std::int64_t root = 0;
  std::string commit = {};
};
// In order of their numbers. A store that only this daemon uses has no other hosts, whatever their names were.
enum class RemovalsOf { this_host, any_host };
std::vector<Removal> list_removals(Transaction& transaction, const std::string& host, RemovalsOf of, std::int64_t after,
                                   std::int64_t most);
void forget_removals(Transaction& transaction, const std::vector<std::int64_t>& numbers);

}  // namespace reeve::ledger
