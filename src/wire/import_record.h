#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/describe.h"

// The result of `reeve import`, or of a dry run (STO-2).
namespace reeve::wire {

struct ImportRequest {
  // Absolute, on the daemon's machine.
  std::string path;
  bool dry_run = false;
  friend bool operator==(const ImportRequest&, const ImportRequest&) = default;
};
BOOST_DESCRIBE_STRUCT(ImportRequest, (), (path, dry_run))

struct ImportSkip {
  std::string reason;
  std::int64_t rows = 0;
  friend bool operator==(const ImportSkip&, const ImportSkip&) = default;
};
BOOST_DESCRIBE_STRUCT(ImportSkip, (), (reason, rows))

struct ImportKind {
  // "runs", "approvals", ….
  std::string kind;
  std::int64_t taken = 0;
  std::int64_t skipped = 0;
  std::vector<ImportSkip> reasons;
  friend bool operator==(const ImportKind&, const ImportKind&) = default;
};
BOOST_DESCRIBE_STRUCT(ImportKind, (), (kind, taken, skipped, reasons))

struct ImportRecord {
  std::string path;
  // Covers the rows that Reeve can read; the same rows are imported only once.
  std::string content_hash;
  bool dry_run = false;
  // True if the rows were imported before: nothing was done, and the other members are those of the first import.
  bool already_imported = false;
  std::optional<base::WallTime> imported_at;
  std::optional<std::string> imported_by;
  std::vector<ImportKind> kinds;
  std::vector<std::string> notes;
  friend bool operator==(const ImportRecord&, const ImportRecord&) = default;
};
BOOST_DESCRIBE_STRUCT(ImportRecord, (),
                      (path, content_hash, dry_run, already_imported, imported_at, imported_by, kinds, notes))

}  // namespace reeve::wire
