#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ledger/runs.h"
#include "os/process.h"
#include "runtime/runs/keeper_link.h"

namespace reeve::runtime {

// A keeper without a run: its endpoint exists and its identity is known.
struct IdleKeeper {
  ledger::KeeperIdentity identity;
  Loop::Own<KeeperLink> link;
  // Counts as a run in the descriptor budget while held.
  std::shared_ptr<void> place = {};
};

// Keepers started ahead of time, so that a run need not wait for one. Also reaps keepers that have exited.
class KeeperPool {
 public:
  struct Options {
    // The program, and the folder for locks and sockets.
    std::string program;
    std::string endpoints;
    std::string host;
    std::string boot_id;
    // The descriptor for keepers' error output; -1 for none.
    int complaints = -1;
    // For tests: the crash point of the first keeper.
    std::string crash_point = {};
    std::size_t size = 3;
  };

  KeeperPool(Loop& loop, Options options);
  KeeperPool(const KeeperPool&) = delete;
  KeeperPool& operator=(const KeeperPool&) = delete;

  // Delivers a keeper now or as soon as one is available; an error if none can be started.
  using Taken = std::function<void(std::expected<IdleKeeper, base::Error>)>;
  void take(Taken taken);
  // The taken keeper has begun its run: a replacement may be started. Starting one blocks the loop, and thus delays
  // runs that are about to begin.
  void note_begun() { fill_later(); }
  std::size_t waiting() const noexcept { return idle_.size(); }
  // Idle keepers exit.
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
  // Why the last keeper could not be started.
  std::string failure_;
  bool is_fill_due_ = false;
  Loop::Hold refill_;
  bool is_closed_ = false;
};

}  // namespace reeve::runtime
