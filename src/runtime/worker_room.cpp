#include <algorithm>
#include <utility>

#include "runtime/store_task.h"
#include "runtime/worker.h"

// Room for work: who has it, what may have it, and when.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::StepResult;
using ledger::Transaction;

// Executions that are offered room in one go.
constexpr std::int64_t most_offered = 64;
constexpr int most_pages = 64;
// Nodes that may be on their way to a place to work, however few may run.
constexpr std::size_t least_preparing = 4;

std::size_t count_begun(const StepResult& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.work, [](const ledger::Work& work) { return std::holds_alternative<ledger::StartWork>(work); }));
}

}  // namespace

std::size_t Worker::room() const noexcept {
  if (!may_prepare()) return 0;
  return most_runs() - std::min(most_runs(), busy_.size() + waiting_.size() + placed_.size());
}

// Each gets a worktree: they are bounded too.
bool Worker::may_prepare() const noexcept { return preparing_.size() < std::max(most_runs(), least_preparing); }

ledger::Worker Worker::hands(std::size_t freed) const { return {around_.daemon, room() + freed, around_.host}; }

void Worker::note_room() {
  if (room() == 0) was_full_ = true;
  around_.ledger.set_worker(hands(0));
}

// What has its place and waits for room is first: others may wait for that place.
void Worker::start_waiting() {
  while (!placed_.empty() && busy_.size() < most_runs()) {
    const Placed next = std::move(placed_.front());
    placed_.pop_front();
    give_room(next.claim, next.go);
  }
  while (!waiting_.empty() && busy_.size() < most_runs() && may_prepare()) {
    const ledger::StartWork work = std::move(waiting_.front());
    waiting_.pop_front();
    hold(work, [](NodeWork& node) { node.begin(); });
  }
}

void Worker::give_room(const ledger::Claim& claim, std::function<void()> go) {
  if (busy_.size() >= most_runs()) {
    placed_.push_back({claim, std::move(go)});
    return note_room();
  }
  preparing_.erase(key_of(claim));
  busy_.insert_or_assign(key_of(claim), claim);
  note_room();
  go();
}

void Worker::note_change(const Key& key) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  const NodeWork& work = *found->second;
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

void Worker::free_room(const ledger::Claim& claim) {
  const auto busy = busy_.find(key_of(claim));
  if (busy != busy_.end() && busy->second == claim) busy_.erase(busy);
}

// There may be some that was not there before.
void Worker::use_room() {
  note_room();
  start_waiting();
  if (was_full_ && room() > 0) offer_room();
}

// Where many share a store: the others look at once, not at their next poll.
void Worker::tell_others() {
  if (!around_.lease || std::exchange(is_telling_, true)) return;
  ask_store(
      around_.ledger, around_.loop, [](Transaction& transaction) { ledger::wake_others(transaction); },
      [this](const std::expected<void, Error>&) { is_telling_ = false; });
}

// What is ready and nobody has begun, as far as there is room.
void Worker::offer_room() {
  if (!has_begun_) return;
  if (is_offering_) {
    must_offer_again_ = true;
    return;
  }
  was_full_ = false;
  if (room() == 0) {
    was_full_ = true;
    return;
  }
  struct Offered {
    StepResult step;
    std::optional<base::WallTime> next;
  };
  is_offering_ = true;
  ask_store(
      around_.ledger, around_.loop,
      [worker = hands(0), &ledger = around_.ledger](Transaction& transaction) {
        Offered offered;
        // Those that have all they may have at once are passed by.
        base::ExecutionId after(0);
        for (int page = 0; page < most_pages && count_begun(offered.step) < worker.room; ++page) {
          const auto ready = ledger::find_ready(transaction, worker.host, after, most_offered);
          for (const base::ExecutionId execution : ready) {
            if (count_begun(offered.step) >= worker.room) break;
            ledger.executions().step(transaction, execution, engine::RoomOffered{}, worker, offered.step);
          }
          if (std::ssize(ready) < most_offered) break;
          after = ready.back();
        }
        offered.next = ledger::find_next_ready(transaction);
        return offered;
      },
      [this](std::expected<Offered, Error> offered) {
        is_offering_ = false;
        if (!offered) {
          die_of_doubt(offered.error());
          return around_.complain("cannot look for work: " + offered.error().message());
        }
        if (offered->next) wait_until(*offered->next);
        const bool has_begun_some = count_begun(offered->step) > 0;
        take(offered->step);
        note_room();
        if (std::exchange(must_offer_again_, false) || (has_begun_some && room() > 0)) offer_room();
      });
}

// For retries that wait (GRF-14).
void Worker::wait_until(base::WallTime when) {
  if (due_ && *due_ <= when) return;
  due_ = when;
  const auto left = std::max(when - around_.clock.wall_now(), base::Milliseconds(0));
  timer_ = around_.loop.at(around_.loop.now() + left + base::Milliseconds(1), [this] {
    due_.reset();
    offer_room();
  });
}

}  // namespace reeve::runtime
