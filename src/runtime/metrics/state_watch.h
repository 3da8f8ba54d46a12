#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/fd.h"
#include "os/inotify.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// What happened to the daemon's state files.
struct StateFinding {
  enum class Kind {
    whole,
    // A file of the database was removed, renamed or replaced.
    files_missing,
    // The state folder was renamed.
    moved,
    // The state folder was removed.
    gone,
  };
  Kind kind = Kind::whole;
  // "reeve.db-wal was removed"; empty for whole.
  std::string what = {};
  // The present path of the folder or database, as far as the kernel knows.
  std::filesystem::path now_at = {};
  // The database file is unlinked: its contents are lost when the last process closes it.
  bool is_database_deleted = false;

  bool operator==(const StateFinding&) const = default;
};

// The names and inodes of the state files as they were at the start. May be compared on any thread.
class StateFiles {
 public:
  StateFiles(std::filesystem::path root, std::optional<std::filesystem::path> database);
  StateFiles(const StateFiles&) = delete;
  StateFiles& operator=(const StateFiles&) = delete;

  // Compares them now, with a few system calls.
  StateFinding look() const;

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t inode = 0;
  };

  std::filesystem::path root_;
  std::optional<std::filesystem::path> database_;
  // Opened without access (O_PATH), so that closing it does not drop SQLite's locks.
  os::Fd root_file_;
  os::Fd database_file_;
  std::uint64_t root_inode_ = 0;
  std::vector<File> files_;
};

// Detects when files of the state folder are removed or renamed under a running daemon, at once through inotify. Where
// inotify reports nothing (network and stacked file systems), another thread polls the files and has them checked.
// Lives on the loop.
class StateWatch {
 public:
  struct Options {
    std::filesystem::path root;
    // The SQLite file, already open; its WAL and shared-memory files are watched too.
    std::optional<std::filesystem::path> database = {};
    // Called for each change as soon as it is detected.
    std::function<void(const StateFinding&)> changed;
    // Called when nothing has happened for `settle_time` after an event, because `rm -r` and `git clean` remove files
    // one by one.
    std::function<void(const StateFinding&)> settled;
    base::Milliseconds settle_time = std::chrono::milliseconds(500);
  };

  // Throws `os.no_watch`.
  StateWatch(Loop& loop, Options options);
  StateWatch(const StateWatch&) = delete;
  StateWatch& operator=(const StateWatch&) = delete;

  // Checks now, with a few system calls. Reports changes before it returns.
  const StateFinding& check();
  // Compares the files without the loop, for a thread that polls them: returns whether check() is due, because they
  // differ from what the last call found. May outlive this object.
  std::function<bool()> make_poll() const;

 private:
  void on_event();
  void await_silence();

  Loop& loop_;
  Options options_;
  std::shared_ptr<const StateFiles> files_;
  os::RemovalWatch events_;
  StateFinding last_;
  Loop::Hold watch_;
  Loop::Hold settling_;
};

}  // namespace reeve::runtime
