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

std::size_t count_begun(const StepResult& step) {
  return static_cast<std::size_t>(std::ranges::count_if(
      step.work, [](const ledger::Work& work) { return std::holds_alternative<ledger::StartWork>(work); }));
}

}  // namespace

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
