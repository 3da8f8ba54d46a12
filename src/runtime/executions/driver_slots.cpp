#include <algorithm>
#include <utility>

#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"

// Slots for work: which nodes use one, and when waiting nodes get one.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::StepResult;
using ledger::Transaction;

// Executions offered slots in one pass.
constexpr std::int64_t max_offered = 64;
constexpr int max_pages = 64;
// Nodes whose working folders may be prepared at once, however few may run.
constexpr std::size_t least_preparing = 4;

std::size_t count_begun(const StepResult& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.work, [](const ledger::Work& work) { return std::holds_alternative<ledger::StartWork>(work); }));
}

}  // namespace

std::size_t ExecutionDriver::room() const noexcept {
  if (!may_prepare()) return 0;
  return max_runs() - std::min(max_runs(), busy_.size() + waiting_.size() + placed_.size());
}

// Bounded, because each gets a worktree.
bool ExecutionDriver::may_prepare() const noexcept { return preparing_.size() < std::max(max_runs(), least_preparing); }

ledger::WorkerCapacity ExecutionDriver::capacity(std::size_t freed) const {
  return {context_.daemon, room() + freed, context_.host};
}

void ExecutionDriver::note_room() {
  if (room() == 0) was_full_ = true;
  context_.ledger.set_worker(capacity(0));
}

// Nodes with a prepared folder come first, because others may wait for that folder.
void ExecutionDriver::start_waiting() {
  while (!placed_.empty() && busy_.size() < max_runs()) {
    const WorktreeReady next = std::move(placed_.front());
    placed_.pop_front();
    give_room(next);
  }
  while (!waiting_.empty() && busy_.size() < max_runs() && may_prepare()) {
    const ledger::StartWork work = std::move(waiting_.front());
    waiting_.pop_front();
    hold(work, [](NodeExecutor& node) { node.begin(); });
  }
}

void ExecutionDriver::on_worktree_ready(const WorktreeReady& ready) {
  // The node may have been cancelled meanwhile.
  if (find_held(ready.claim)) give_room(ready);
}

void ExecutionDriver::give_room(const WorktreeReady& ready) {
  if (busy_.size() >= max_runs()) {
    placed_.push_back(ready);
    return note_room();
  }
  const Key key = key_of(ready.claim);
  preparing_.erase(key);
  busy_.insert_or_assign(key, ready.claim);
  note_room();
  if (const auto node = find_held(ready.claim)) node->start_in(ready.folder);
}

void ExecutionDriver::on_node_changed(const ledger::Claim& claim) {
  const auto held = find_held(claim);
  // Work that is over keeps its slot until its result is stored.
  if (!held || held->is_over()) return;
  const NodeExecutor& work = *held;
  const Key key = key_of(claim);
  if (work.run()) by_run_.insert_or_assign(*work.run(), key);
  if (work.is_preparing()) {
    preparing_.insert(key);
  } else {
    preparing_.erase(key);
  }
  if (work.is_busy()) {
    busy_.insert_or_assign(key, work.claim());
  } else {
    free_room(work.claim());
  }
  use_room();
}

void ExecutionDriver::free_room(const ledger::Claim& claim) {
  const auto busy = busy_.find(key_of(claim));
  if (busy != busy_.end() && busy->second == claim) busy_.erase(busy);
}

// Slots may have become free.
void ExecutionDriver::use_room() {
  note_room();
  start_waiting();
  if (was_full_ && room() > 0) offer_room();
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
  was_full_ = room() == 0;
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
        note_room();
        if (must_repeat || (has_begun_some && room() > 0)) offer_room();
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
