#include <algorithm>
#include <utility>

#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"

// When waiting nodes get a slot, and what is claimed for free slots.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::StepResult;
using ledger::Transaction;

// Executions offered slots in one pass.
constexpr std::int64_t max_offered = 64;
constexpr int max_pages = 64;

std::size_t count_begun(const StepResult& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.work, [](const ledger::Work& work) { return std::holds_alternative<ledger::StartWork>(work); }));
}

}  // namespace

ledger::WorkerCapacity ExecutionDriver::capacity(std::size_t freed) const {
  return {context_.daemon, slots_.room() + freed, context_.host};
}

void ExecutionDriver::announce_room() {
  if (slots_.room() == 0) was_full_ = true;
  context_.ledger.set_worker(capacity(0));
}

void ExecutionDriver::on_worktree_ready(const WorktreeReady& ready) {
  // The node may have been cancelled meanwhile.
  if (!find_held(ready.claim)) return;
  if (!slots_.is_full()) return start_ready(ready);
  slots_.add_ready(ready);
  announce_room();
}

void ExecutionDriver::start_ready(const WorktreeReady& ready) {
  slots_.set_preparing(ready.claim, false);
  slots_.occupy(ready.claim);
  announce_room();
  if (const auto node = find_held(ready.claim)) node->start_in(ready.folder);
}

void ExecutionDriver::on_node_changed(const ledger::Claim& claim) {
  const auto node = find_held(claim);
  // Work that is over keeps its slot until its result is stored.
  if (!node || node->is_over()) return;
  if (node->run()) by_run_.insert_or_assign(*node->run(), key_of(claim));
  slots_.set_preparing(claim, node->is_preparing());
  if (node->is_busy()) {
    slots_.occupy(claim);
  } else {
    slots_.release(claim);
  }
  use_room();
}

// Slots may have become free.
void ExecutionDriver::use_room() {
  parts_.supervisor.start_queued();
  announce_room();
  while (const auto ready = slots_.take_ready()) start_ready(*ready);
  while (const auto work = slots_.take_waiting()) {
    hold(*work, [](NodeExecutor& node) { node.begin(); });
  }
  if (was_full_ && slots_.room() > 0) offer_room();
}

// With a shared store: makes other daemons check at once instead of at their next poll.
void ExecutionDriver::wake_others() {
  if (!context_.lease || std::exchange(is_waking_, true)) return;
  ask_store(
      context_.ledger, context_.loop, [](Transaction& transaction) { ledger::wake_others(transaction); },
      [this](const std::expected<void, Error>&) { is_waking_ = false; });
}

// Claims ready nodes that nothing has started, as far as slots are free.
void ExecutionDriver::offer_room() {
  if (!has_begun_ || !offering_.begin()) return;
  was_full_ = slots_.room() == 0;
  if (was_full_) {
    offering_.end();
    return;
  }
  struct Offered {
    StepResult step;
    std::optional<base::WallTime> next;
  };
  ask_store(
      context_.ledger, context_.loop,
      [worker = capacity(0), &ledger = context_.ledger](Transaction& transaction) {
        Offered offered;
        // Executions at their own limit are skipped.
        base::ExecutionId after(0);
        for (int page = 0; page < max_pages && count_begun(offered.step) < worker.room; ++page) {
          const auto ready = ledger::find_ready(transaction, worker.host, after, max_offered);
          for (const base::ExecutionId execution : ready) {
            if (count_begun(offered.step) >= worker.room) break;
            ledger.executions().step(transaction, execution, engine::RoomOffered{}, worker, offered.step);
          }
          if (std::ssize(ready) < max_offered) break;
          after = ready.back();
        }
        offered.next = ledger::find_next_ready(transaction);
        return offered;
      },
      [this](std::expected<Offered, Error> offered) {
        const bool must_repeat = offering_.end();
        if (!offered) {
          rethrow_unknown_commit(offered.error());
          return context_.log_warning("cannot look for work: " + offered.error().message());
        }
        if (offered->next) wait_until(*offered->next);
        const bool has_begun_some = count_begun(offered->step) > 0;
        perform(offered->step);
        announce_room();
        if (must_repeat || (has_begun_some && slots_.room() > 0)) offer_room();
      });
}

// For delayed retries (GRF-14).
void ExecutionDriver::wait_until(base::WallTime when) {
  if (due_ && *due_ <= when) return;
  due_ = when;
  const auto left = std::max(when - context_.clock.wall_now(), base::Milliseconds(0));
  timer_ = context_.loop.at(context_.loop.now() + left + base::Milliseconds(1), [this] {
    due_.reset();
    offer_room();
  });
}

}  // namespace reeve::runtime
