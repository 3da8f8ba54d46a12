#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "model/describe.h"

// The result of `reeve prune`, or of a dry run.
namespace reeve::wire {

struct PruneRequest {
  // A duration that replaces `retention.runs` and, if shorter, `retention.output`.
  std::optional<std::string> older_than;
  std::optional<bool> keep_failed;
  bool dry_run = false;
  friend bool operator==(const PruneRequest&, const PruneRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(PruneRequest, (), (older_than, keep_failed, dry_run))

struct PruneRecord {
  bool dry_run = false;
  // Records removed.
  std::int64_t runs = 0;
  std::int64_t executions = 0;
  std::int64_t events = 0;
  // Runs whose output files are removed although their records stay.
  std::int64_t outputs = 0;
  // Folders and git refs removed on this host.
  std::int64_t folders = 0;
  std::int64_t refs = 0;
  friend bool operator==(const PruneRecord&, const PruneRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(PruneRecord, (), (dry_run, runs, executions, events, outputs, folders, refs))

}  // namespace reeve::wire
