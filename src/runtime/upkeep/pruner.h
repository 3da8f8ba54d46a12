#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ledger/retention.h"
#include "model/config.h"
#include "runtime/isolation/isolation.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/loop/side_thread.h"

namespace reeve::runtime {

// Removes old records and their files (SPEC §7 `retention`): by request, and by itself once a day if there is something
// to remove. Rows go in small transactions; files and git refs after them, outside of any. What a crash leaves is
// removed after the next start.
class Pruner {
 public:
  struct Order {
    model::Retention retention;
    bool is_dry_run = false;
    std::string actor;
  };
  struct Result {
    ledger::PruneCounts counts;
    // Folders and git refs removed on this host, including those left by earlier prunes.
    std::int64_t folders = 0;
    std::int64_t refs = 0;
  };
  using Done = std::function<void(std::expected<Result, base::Error>)>;
  using Reload = std::function<std::expected<model::Config, base::Error>()>;

  // Whether the store may be used from other hosts.
  enum class Store { own, shared };
  Pruner(RuntimeContext& context, Isolation& isolation, Store store, Reload reload);
  Pruner(const Pruner&) = delete;
  Pruner& operator=(const Pruner&) = delete;

  // Removes the files that a crash has left, and prunes automatically from now on: soon, then daily.
  void begin();
  // Errors: `prune.busy`, and those of the store. Records that ended within the last 24 hours are always kept.
  void prune(Order order, Done done);
  bool is_busy() const noexcept { return is_busy_; }

 private:
  struct Task;
  using SharedTask = std::shared_ptr<Task>;

  void begin_order(Order order, Done done);
  void sweep_left();
  void check_due();
  void wait_until(base::Milliseconds from_now);
  ledger::RetentionTerms make_terms(const Order& order) const;
  void next_batch(const SharedTask& task);
  void sweep(const SharedTask& task, std::int64_t after);
  void remove(const SharedTask& task, std::vector<ledger::Removal> removals);
  void remove_refs(const SharedTask& task, std::vector<ledger::Removal> refs, std::vector<std::int64_t> done,
                   std::int64_t last);
  void forget(const SharedTask& task, std::vector<std::int64_t> done, std::int64_t last);
  void end(const SharedTask& task, std::expected<void, base::Error> result);

  RuntimeContext& context_;
  Isolation& isolation_;
  Store store_;
  Reload reload_;
  bool is_busy_ = false;
  // Set while something is done that nobody asked for: an order then waits for its end.
  bool is_automatic_ = false;
  std::optional<std::pair<Order, Done>> waiting_;
  Loop::Hold timer_;
  // Last, because its jobs use the context.
  SideThread files_;
};

}  // namespace reeve::runtime
