#pragma once

#include <string>

namespace reeve::testing {

// A file layer for SQLite that passes everything on to the real one until it is told to fail.
class FaultyDisk {
 public:
  // Its name, for store::OpenOptions::vfs.
  static std::string name();
  // From now on no write fits; what is read is as it was.
  static void fill(bool is_full);
  // From now on no fsync succeeds: of any file, or of the database's own alone, which only a checkpoint writes.
  enum class Sync { works, breaks, breaks_at_checkpoints };
  static void set_sync(Sync sync);
};

}  // namespace reeve::testing
