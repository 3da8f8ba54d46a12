#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/store_task.h"
#include "runtime/worker.h"

// ISO-1: an execution whose branch goes by a remote is worked on at one host at a time. One that is at home elsewhere,
// where nobody goes on with it, is brought here: first its branch is fetched, which also proves that this host can;
// then its home moves, in the transaction that claims what is to be done.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t most_adrift = 64;
constexpr base::Milliseconds longest_pause = std::chrono::minutes(5);

}  // namespace

void Worker::put_off(std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const {
  Pause& pause = pauses[root];
  pause.until = around_.loop.now() + pause.length;
  pause.length = std::min(2 * pause.length, longest_pause);
}

bool Worker::is_due(const std::map<base::ExecutionId, Pause>& pauses, base::ExecutionId root) const {
  const auto found = pauses.find(root);
  return found == pauses.end() || found->second.until <= around_.loop.now();
}

void Worker::look_abroad() {
  const base::BootTime now = around_.loop.now();
  if (is_visiting_ || room() == 0 || now < next_visit_) return;
  next_visit_ = now + around_.supervision.poll_interval;
  is_visiting_ = true;
  ask_store(
      around_.ledger, around_.loop,
      [host = around_.host, grace = around_.supervision.adopt_grace](Transaction& transaction) {
        return ledger::find_adrift(transaction, host, grace, most_adrift);
      },
      [this](const std::expected<std::vector<base::ExecutionId>, Error>& adrift) {
        is_visiting_ = false;
        if (!adrift) return around_.complain("cannot look for what others left: " + adrift.error().message());
        std::erase_if(abroad_,
                      [&](const auto& entry) { return std::ranges::find(*adrift, entry.first) == adrift->end(); });
        const auto next =
            std::ranges::find_if(*adrift, [this](base::ExecutionId root) { return is_due(abroad_, root); });
        if (next != adrift->end()) visit(*next);
      });
}

void Worker::visit(base::ExecutionId root) {
  is_visiting_ = true;
  with_place(root, [this, root](std::expected<Place, Error> place) {
    if (!place) return end_visit(root, place.error());
    helpers_.isolation.visit(make_isolation_ground(*place->ground), root,
                             [this, root, ground = place->ground](std::expected<std::string, Error> tip) {
                               if (!tip) return end_visit(root, tip.error());
                               settle(root, ground, *tip);
                             });
  });
}

void Worker::settle(base::ExecutionId root, const SharedGround& ground, const std::string& tip) {
  const ledger::HomeMove move{.root = root,
                              .host = around_.host,
                              .project = ground->project,
                              .tip = tip,
                              .grace = around_.supervision.adopt_grace};
  ask_store(
      around_.ledger, around_.loop,
      [move, worker = hands(0), &ledger = around_.ledger](Transaction& transaction) {
        Arrival arrival;
        const auto moved = ledger::move_home(transaction, ledger.executions(), move);
        if (!moved) return arrival;
        arrival.is_here = true;
        for (const ledger::LapsedClaim& lapsed : moved->left) {
          auto found = take_left(transaction, ledger.executions(), lapsed, worker);
          if (found) arrival.found.push_back(std::move(*found));
        }
        for (const base::ExecutionId execution : moved->executions) {
          ledger.executions().step(transaction, execution, engine::RoomOffered{}, worker, arrival.step);
        }
        return arrival;
      },
      [this, root](std::expected<Arrival, Error> arrival) {
        if (!arrival) {
          die_of_doubt(arrival.error());
          return end_visit(root, arrival.error());
        }
        see_arrival(root, *arrival);
      });
}

void Worker::see_arrival(base::ExecutionId root, const Arrival& arrival) {
  end_visit(root, std::nullopt);
  // Somebody was faster: that is no failure.
  if (!arrival.is_here) {
    if (!open_.contains(root)) forget_guest_ground(around_.folder, root);
    return put_off(abroad_, root);
  }
  around_.crash_point("execution.after_move");
  around_.complain(fmt::format("{} goes on here", root.text()));
  note_open(root);
  take_found(arrival.found);
  take(arrival.step);
}

void Worker::end_visit(base::ExecutionId root, const std::optional<Error>& error) {
  is_visiting_ = false;
  if (!error) {
    abroad_.erase(root);
    // There may be more.
    next_visit_ = around_.loop.now();
    return;
  }
  if (!open_.contains(root)) forget_guest_ground(around_.folder, root);
  put_off(abroad_, root);
  around_.complain(fmt::format("{} cannot go on here: {}", root.text(), error->message()));
}

}  // namespace reeve::runtime
