#pragma once

#include <cstddef>
#include <string>

namespace reeve::testing {

// A SQLite VFS that forwards everything to the real one until told to fail.
class FaultyDisk {
 public:
  // Its name, for store::OpenOptions::vfs.
  static std::string name();
  // From now on every write fails with a full disk; reads still work.
  static void fill(bool is_full);
  // From now on every fsync fails: for any file, or only for the database file, which only a checkpoint writes.
  enum class Sync { works, breaks, breaks_at_checkpoints };
  static void set_sync(Sync sync);
  // The fsyncs of all files so far.
  static std::size_t count_syncs();
};

}  // namespace reeve::testing
