#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ledger/runs.h"
#include "os/process.h"
#include "runtime/keeper_link.h"

namespace reeve::runtime {

// A keeper that holds nothing yet: its seat is taken, its identity known.
struct IdleKeeper {
  ledger::KeeperIdentity identity;
  Loop::Own<KeeperLink> link;
  // What it was taken for counts as a run as long as this is held.
  std::shared_ptr<void> place = {};
};

// Keepers in waiting, so that a run need not wait for one, and the collection of those that have ended.
class KeeperPool {
 public:
  struct Options {
    // The program, and the folder for locks and sockets.
    std::string program;
    std::string seats;
    std::string host;
    std::string boot_id;
    // Where keepers complain; -1 for nowhere.
    int complaints = -1;
    // For tests: the point at which the first keeper dies.
    std::string crash_point = {};
    std::size_t size = 3;
  };

  KeeperPool(Loop& loop, Options options);
  KeeperPool(const KeeperPool&) = delete;
  KeeperPool& operator=(const KeeperPool&) = delete;

  // Gives one now or as soon as there is one; nothing when none can be started (errno-like text in `why`).
  using Taken = std::function<void(std::expected<IdleKeeper, base::Error>)>;
  void take(Taken taken);
  // The one that was taken has begun: the next may be started. Starting one holds up the loop, and so whoever waits for
  // the store to begin.
  void note_begun() { fill_later(); }
  std::size_t waiting() const noexcept { return idle_.size(); }
  // Those in waiting leave.
  void close();

 private:
  struct Starting {
    Loop::Own<KeeperLink> link;
    pid_t pid = 0;
  };
  void fill();
  void fill_later();
  void start_one();
  void try_start();
  void greeted(std::uint64_t number, const keeper::Hello& hello);
  void lost(std::uint64_t number);
  void collect(pid_t pid);

  Loop& loop_;
  Options options_;
  std::uint64_t next_number_ = 1;
  std::map<std::uint64_t, Starting> starting_;
  std::deque<std::pair<std::uint64_t, IdleKeeper>> idle_;
  std::deque<Taken> waiting_;
  struct Child {
    os::Process process;
    Loop::Hold watch;
  };
  std::map<pid_t, Child> children_;
  int failures_ = 0;
  // Why the last one could not be started.
  std::string failure_;
  bool is_fill_due_ = false;
  Loop::Hold refill_;
  bool is_closed_ = false;
};

}  // namespace reeve::runtime
