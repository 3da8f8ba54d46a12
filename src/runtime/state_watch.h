#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "os/inotify.h"
#include "runtime/loop.h"

namespace reeve::runtime {

// What has become of the files that a daemon works with.
struct StateFinding {
  enum class Kind {
    whole,
    // A file of the database was removed, renamed or replaced.
    files_missing,
    // The state folder has another name now.
    moved,
    // The state folder was removed.
    gone,
  };
  Kind kind = Kind::whole;
  // "reeve.db-wal was removed"; empty for whole.
  std::string what = {};
  // Where the folder or the database is now, as far as the kernel says.
  std::filesystem::path now_at = {};
  // The database has no name any more: what it holds is lost with the process that has it open.
  bool is_database_deleted = false;

  bool operator==(const StateFinding&) const = default;
};

// Notices when files of the state folder are removed or renamed under a living daemon: at once by inotify, and by a
// look every few seconds where inotify is not told (network and stacked file systems). Lives on the loop.
class StateWatch {
 public:
  struct Options {
    std::filesystem::path root;
    // The SQLite file, open by now; with it its log and its index are watched.
    std::optional<std::filesystem::path> database = {};
    // Told of each change, as soon as it is seen.
    std::function<void(const StateFinding&)> changed;
    // Told when nothing has happened for `settle_time` after an event: `rm -r` and `git clean` remove one file after
    // the other.
    std::function<void(const StateFinding&)> settled;
    base::Milliseconds settle_time = std::chrono::milliseconds(500);
    base::Milliseconds interval = std::chrono::seconds(5);
  };

  // Throws `os.no_watch`.
  StateWatch(Loop& loop, Options options);
  StateWatch(const StateWatch&) = delete;
  StateWatch& operator=(const StateWatch&) = delete;

  // Looks now: a few calls of the system. Tells what has changed before it returns.
  const StateFinding& check();

 private:
  struct File {
    std::filesystem::path path;
    std::uint64_t inode = 0;
  };
  StateFinding look() const;
  void on_event();
  void look_again();

  Loop& loop_;
  Options options_;
  // Without access, so that closing it drops no lock of SQLite's.
  os::Fd root_;
  os::Fd database_;
  std::uint64_t root_inode_ = 0;
  std::vector<File> files_;
  os::RemovalWatch events_;
  StateFinding last_;
  Loop::Hold watch_;
  Loop::Hold settling_;
  Loop::Hold timer_;
};

}  // namespace reeve::runtime
