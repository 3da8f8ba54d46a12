#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ledger/ledger.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// Current figures of the store, each read through an index.
struct StoreFigures {
  // Unfinished runs and executions, over all daemons of the store.
  std::map<model::RunStatus, std::int64_t> runs;
  std::map<model::ExecutionStatus, std::int64_t> executions;
  std::int64_t pending_approvals = 0;
  // Age of the oldest pending approval by the store's clock; 0 if there is none.
  base::Milliseconds oldest_pending{0};
  std::int64_t last_event = 0;
};

// Reads figures from the store, at most once a second and one read at a time, however many callers ask. No caller waits
// for a store that does not respond. Lives on the loop.
class StoreWatch {
 public:
  static constexpr base::Milliseconds fresh_for = std::chrono::seconds(1);
  static constexpr base::Milliseconds timeout = std::chrono::seconds(2);

  StoreWatch(Loop& loop, ledger::Ledger& ledger) : loop_(loop), ledger_(ledger) {}
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  // `store.unavailable` after `timeout`; otherwise figures at most a second old. Never calls back before it returns.
  using Told = std::function<void(const std::expected<StoreFigures, base::Error>&)>;
  void ask(Told told);

 private:
  void ask_now();
  void tell_all(const std::expected<StoreFigures, base::Error>& answer);

  struct Waiting {
    Told told;
    Loop::Hold timer;
  };

  Loop& loop_;
  ledger::Ledger& ledger_;
  bool is_asking_ = false;
  std::optional<StoreFigures> last_;
  base::BootTime last_at_;
  std::uint64_t next_waiting_ = 0;
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace reeve::runtime
