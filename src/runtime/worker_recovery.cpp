#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/gate_results.h"
#include "runtime/store_task.h"
#include "runtime/worker.h"
#include "store/executions.h"
#include "store/runs.h"

// What a worker does about executions whose daemon died, its own predecessor or another, and at the end of each.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t most_lapsed = 10'000;
constexpr std::int64_t most_orphans = 10'000;
// Executions that are asked about at one poll.
constexpr std::size_t most_swept = 1'000;
constexpr auto look_pause = std::chrono::seconds(1);
// Where others may tell of work at any time.
constexpr base::Milliseconds shared_pause(20);

}  // namespace

void Worker::begin(std::function<void()> done) {
  settle_starts([this, done = std::move(done)] {
    adopt([this, done] {
      has_begun_ = true;
      note_room();
      offer_room();
      // Nothing of an execution that is over may still run where it is tidied up.
      end_orphans([this] { finish_open(); });
      done();
    });
  });
}

// What a daemon wrote for executions and died before it could name it after them; what never came to exist goes.
void Worker::settle_starts(std::function<void()> done) {
  const std::vector<std::string> drafts = find_ground_drafts(around_.folder);
  if (drafts.empty()) return done();
  using Named = std::map<std::string, base::ExecutionId>;
  const auto find = [drafts](Transaction& transaction) {
    constexpr std::int64_t page = 500;
    Named named;
    store::ExecutionFilter filter{
        .statuses = {model::ExecutionStatus::running, model::ExecutionStatus::waiting_approval}, .most = page};
    for (bool is_more = true; is_more;) {
      const std::vector<model::Execution> found = store::list_executions(transaction.session(), filter);
      for (const model::Execution& one : found) {
        const base::ExecutionId id = one.execution_id;
        const ledger::Root root = ledger::find_root(transaction, id);
        const base::Value* start = root.execution == id && root.config ? root.config->find(start_key) : nullptr;
        const std::string* nonce = start != nullptr ? start->as_string() : nullptr;
        if (nonce != nullptr && std::ranges::find(drafts, *nonce) != drafts.end()) named.emplace(*nonce, id);
        filter.before = id;
      }
      is_more = std::ssize(found) == page;
    }
    return named;
  };
  const auto settle = [drafts, folder = around_.folder](const std::expected<Named, Error>& named) {
    if (!named) return;
    for (const std::string& nonce : drafts) {
      const auto found = named->find(nonce);
      if (found != named->end()) {
        name_ground(folder, nonce, found->second);
      } else {
        drop_ground_draft(folder, nonce);
      }
    }
  };
  ask_store(around_.ledger, around_.loop, StoreSteps{.before = [] {}, .work = find, .after = settle},
            [done](const std::expected<Named, Error>& named) {
              // Without them executions would go on with another environment: the next daemon tries again.
              if (!named) throw named.error();
              done();
            });
}

// GRF-13: a dead daemon's claims are its successor's on the same host. Another's that never began are anybody's.
void Worker::adopt(std::function<void()> done) {
  ask_store(
      around_.ledger, around_.loop,
      [worker = hands(0), is_first = !has_begun_, grace = around_.supervision.adopt_grace,
       &ledger = around_.ledger](Transaction& transaction) {
        if (is_first) ledger::end_leases_of(transaction, worker.host, worker.daemon);
        std::vector<Found> all;
        for (const ledger::LapsedClaim& lapsed : ledger::find_lapsed(transaction, worker.host, most_lapsed)) {
          const bool is_own = lapsed.host == worker.host;
          // Begun elsewhere: its own daemon may come back for it until its keepers have given up, and a little longer.
          const bool is_given_up = lapsed.lapsed_at + grace + grace / 4 <= transaction.now();
          if (!is_own && lapsed.is_spawned && !is_given_up) continue;
          auto found = take_left(transaction, ledger.executions(), lapsed, worker);
          if (found) all.push_back(std::move(*found));
        }
        return all;
      },
      [this, done](std::expected<std::vector<Found>, Error> found) {
        // At the start nothing would go on without it: the next daemon begins at once and tries again.
        if (!found && !has_begun_) throw found.error();
        if (found) {
          take_found(std::move(*found));
        } else {
          around_.complain("cannot look for what others left: " + found.error().message());
        }
        done();
      });
}

// What began is adopted, with its run: the caller knows that nothing of it lives, or that it is this host's own.
std::optional<Worker::Found> Worker::take_left(Transaction& transaction, ledger::Executions& executions,
                                               const ledger::LapsedClaim& lapsed, const ledger::Worker& worker) {
  const bool is_own = lapsed.host == worker.host;
  const auto claim = is_own || lapsed.is_spawned ? ledger::adopt(transaction, lapsed.claim, worker.daemon)
                                                 : ledger::take_over(transaction, lapsed.claim, worker.daemon);
  auto held = claim ? executions.load(transaction, *claim) : std::nullopt;
  if (!held) return std::nullopt;
  const std::string& node = held->work.workflow->workflow.nodes[claim->node].id;
  Found found{std::move(*held), {}};
  if (lapsed.is_spawned) found.runs = ledger::find_runs(transaction, claim->execution, node);
  if (!found.runs.empty()) {
    const model::Run& last = found.runs.back();
    const auto holder = ledger::find_run_host(transaction, last.tool_run_id, last.attempt);
    found.is_foreign = holder && *holder != worker.host;
  }
  return found;
}

void Worker::take_found(std::vector<Found> all) {
  for (Found& found : all) {
    if (found.runs.empty()) {
      begin_work(found.held.work);
      continue;
    }
    hold(found.held.work, [this, runs = std::move(found.runs), is_foreign = found.is_foreign](NodeWork& work) {
      const auto go_on = [this, runs](NodeWork& held) {
        held.resume(runs);
        if (held.run()) look_at_run(*held.run());
      };
      if (is_foreign) return work.take_over(runs.back(), go_on);
      go_on(work);
    });
  }
}

// It may have ended between the look at it and now, when nobody listened.
void Worker::look_at_run(base::RunId run) {
  ask_store(
      around_.ledger, around_.loop,
      [run](Transaction& transaction) { return store::find_run(transaction.session(), run); },
      [this](const std::expected<std::optional<store::RunRow>, Error>& row) {
        if (row && *row) see((*row)->run);
      });
}

void Worker::put_aside(const model::Run& run, Supervisor::LostAnswer answer) {
  const bool is_gate = !find_word(run, commit_key).empty();
  const bool is_of_node = run.execution_id && (is_gate || run.node_id);
  if (!is_of_node) return answer(std::nullopt);
  with_place(*run.execution_id, [this, run, is_gate, answer](std::expected<Place, Error> place) {
    if (!place) return answer(place.error());
    if (!place->ground->base_commit) return answer(std::nullopt);
    const IsolationGround ground = make_isolation_ground(*place->ground);
    const auto tell = [answer](const auto& done) { answer(done ? std::nullopt : std::optional<Error>(done.error())); };
    if (is_gate) {
      const Isolation::Checkout checkout{
          .folder = run.cwd, .commit = find_word(run, commit_key), .tree = find_word(run, tree_key)};
      return helpers_.isolation.renew_checkout(ground, place->root, checkout, tell);
    }
    helpers_.isolation.set_back(ground, place_of(run, place->root), tell);
  });
}

void Worker::find_orphans(Answer<std::vector<ledger::Orphan>> then) {
  const base::Milliseconds grace = around_.supervision.adopt_grace;
  ask_store(
      around_.ledger, around_.loop,
      [host = around_.host, grace](Transaction& transaction) {
        return ledger::find_orphans(transaction, host, transaction.now() - grace - grace / 4, most_orphans);
      },
      std::move(then));
}

// At the start, before anything is tidied up. What cannot be asked now is asked until it can.
void Worker::end_orphans(std::function<void()> done) {
  find_orphans([this, done](const std::expected<std::vector<ledger::Orphan>, Error>& orphans) {
    if (!orphans) return later([this, done] { end_orphans(done); });
    auto left = std::make_shared<std::size_t>(1);
    const auto one_less = [left, done] {
      if (--*left == 0) done();
    };
    for (const ledger::Orphan& orphan : *orphans) {
      ++*left;
      end_orphan(orphan, one_less);
    }
    one_less();
  });
}

// What cannot be ended now is found by the next sweep.
void Worker::end_orphan(const ledger::Orphan& orphan, std::function<void()> done) {
  if (!orphan.lost) {
    return helpers_.supervisor.cancel_and_wait(orphan.run, {.by = "reeve", .reason = "its node is over"}, done);
  }
  ask_store(
      around_.ledger, around_.loop,
      [orphan](Transaction& transaction) { return ledger::end_lost_orphan(transaction, orphan); },
      [done](const std::expected<bool, Error>&) { done(); });
}

// GRF-7: no run outlives its execution. An end that the store did not take, or that was asked for while the run was
// between two daemons, is nobody's any more: a run of a node that no work here holds is looked at again.
void Worker::sweep_orphans() {
  const base::BootTime now = around_.loop.now();
  if (is_sweeping_orphans_ || now < next_stray_sweep_) return;
  const auto runs = helpers_.supervisor.find_runs_of_nodes();
  const bool has_stray = std::ranges::any_of(runs, [this](base::RunId run) { return !by_run_.contains(run); });
  // Runs of hosts that are gone are seen in the store alone.
  const bool is_due = around_.lease && now >= next_orphan_sweep_;
  if (!has_stray && !is_due) return;
  next_stray_sweep_ = now + around_.supervision.poll_interval;
  next_orphan_sweep_ = now + std::max(around_.supervision.poll_interval, around_.supervision.lease);
  is_sweeping_orphans_ = true;
  find_orphans([this](const std::expected<std::vector<ledger::Orphan>, Error>& orphans) {
    is_sweeping_orphans_ = false;
    if (!orphans) return;
    for (const ledger::Orphan& orphan : *orphans) end_orphan(orphan, [] {});
  });
}

void Worker::see_ended(base::ExecutionId root) {
  const auto found = ending_.find(root);
  if (found == ending_.end() || --found->second > 0) return;
  ending_.erase(found);
  if (const auto over = to_finish_.extract(root)) finish(root, over.mapped());
}

// Where a node of no work says so; asked again at the end of the execution when a crash came in between.
void Worker::apply(base::ExecutionId execution) {
  with_place(execution, [this, execution](std::expected<Place, Error> place) {
    if (!place && is_of_store(place.error())) return later([this, execution] { apply(execution); });
    if (place && place->ground->base_commit) apply_passed(place->root, place->ground, [] {});
  });
}

void Worker::tell_unapplied(base::ExecutionId root, const std::string& why) const {
  around_.complain(fmt::format("what {} changed was not applied: {}", root.text(), why));
}

// What the end of an execution brings with it (ISO-3); asked again by the next daemon until it was done.
void Worker::finish(base::ExecutionId root, model::ExecutionStatus status) {
  finishing_.insert(root);
  if (ending_.contains(root)) {
    to_finish_.insert_or_assign(root, status);
    return;
  }
  with_place(root, [this, root, status](std::expected<Place, Error> place) {
    grounds_.erase(root);
    if (!place && is_of_store(place.error())) return later([this, root, status] { finish(root, status); });
    if (!place || !place->ground->base_commit) return close(root, status, nullptr);
    if (status != model::ExecutionStatus::completed) return close(root, status, place->ground);
    apply_passed(root, place->ground, [this, root, status, ground = place->ground] { close(root, status, ground); });
  });
}

// ISO-3: only what every gate has let through.
void Worker::apply_passed(base::ExecutionId root, const SharedGround& ground, std::function<void()> done) {
  ask_store(
      around_.ledger, around_.loop,
      [root](Transaction& transaction) { return ledger::find_refusing_gate(transaction, root); },
      [this, root, ground, done](const std::expected<std::optional<std::string>, Error>& refusing) {
        // What is not known is no no: asked until it is.
        if (!refusing) return later([this, root, ground, done] { apply_passed(root, ground, done); });
        if (*refusing) {
          tell_unapplied(root, fmt::format("the gate {} said no", base::quoted(**refusing)));
          unapplied_.insert(root);
          return done();
        }
        helpers_.isolation.apply(make_isolation_ground(*ground), root, ground->apply,
                                 [this, root, done](const std::expected<Isolation::Applied, Error>& applied) {
                                   if (!applied) tell_unapplied(root, applied.error().message());
                                   const bool is_held = applied && applied->kind == Isolation::Applied::Kind::held;
                                   if (is_held) tell_unapplied(root, applied->message);
                                   if (!applied || applied->waits) {
                                     unapplied_.insert(root);
                                   } else {
                                     unapplied_.erase(root);
                                   }
                                   done();
                                 });
      });
}

void Worker::close(base::ExecutionId root, model::ExecutionStatus status, const SharedGround& ground) {
  const auto end = [this, root, status](bool is_done) {
    finishing_.erase(root);
    // Else the next daemon finds it open, and tries again.
    if (is_done) {
      open_.erase(root);
      refinish_.erase(root);
      close_ground(around_.folder, root);
      // A failed one may be tried again, with the environment that it had, and so may what was not applied.
      const bool is_needed = status == model::ExecutionStatus::failed || unapplied_.contains(root);
      if (!is_needed) remove_ground(around_.folder, root);
      unapplied_.erase(root);
    } else {
      put_off(refinish_, root);
    }
    if (const auto waiting = after_finish_.extract(root)) {
      for (const auto& go_on : waiting.mapped()) go_on();
    }
  };
  if (ground == nullptr) return end(true);
  helpers_.isolation.close(make_isolation_ground(*ground), root, end);
}

void Worker::finish_open() {
  const std::vector<base::ExecutionId> open = find_open_grounds(around_.folder);
  struct State {
    // Nothing: it never came to exist.
    std::map<base::ExecutionId, std::optional<model::ExecutionStatus>> executions;
  };
  ask_store(
      around_.ledger, around_.loop,
      [open](Transaction& transaction) {
        State state;
        for (const base::ExecutionId id : open) {
          try {
            state.executions.emplace(id, ledger::find_root(transaction, id).status);
          } catch (const Error& error) {
            if (error.code() != "execution.not_found") throw;
            state.executions.emplace(id, std::nullopt);
          }
        }
        return state;
      },
      [this](const std::expected<State, Error>& state) {
        if (!state) throw state.error();
        std::set<base::ExecutionId> alive;
        for (const auto& [id, status] : state->executions) {
          if (!status) {
            remove_ground(around_.folder, id);
            continue;
          }
          alive.insert(id);
          note_open(id);
          if (model::is_over(*status)) finish(id, *status);
        }
        helpers_.isolation.begin(std::move(alive), [] {});
      });
}

void Worker::look() {
  if (!has_begun_ || is_looking_) return;
  const base::BootTime now = around_.loop.now();
  const bool is_soon = now - looked_at_ < (around_.lease ? shared_pause : base::Milliseconds(look_pause));
  if (is_soon) return;
  looked_at_ = now;
  offer_room();
  sweep_orphans();
  if (!around_.lease) return;
  is_looking_ = true;
  adopt([this] { is_looking_ = false; });
  look_at_held();
  look_abroad();
  sweep_grounds();
}

// A store of its own tells this daemon of every end.
void Worker::note_open(base::ExecutionId root) {
  if (around_.lease) open_.insert(root);
}

// What was started here and has ended at another daemon: nobody else removes what it has here.
void Worker::sweep_grounds() {
  const base::BootTime now = around_.loop.now();
  if (open_.empty() || is_sweeping_ || now < next_sweep_) return;
  next_sweep_ = now + around_.supervision.poll_interval;
  is_sweeping_ = true;
  std::vector<base::ExecutionId> some;
  auto next = open_.upper_bound(swept_to_);
  for (; next != open_.end() && some.size() < most_swept; ++next) some.push_back(*next);
  swept_to_ = next != open_.end() ? some.back() : base::ExecutionId(0);
  ask_store(
      around_.ledger, around_.loop, [some](Transaction& transaction) { return ledger::find_over(transaction, some); },
      [this](const std::expected<std::vector<ledger::Over>, Error>& over) {
        is_sweeping_ = false;
        if (!over) return;
        for (const ledger::Over& one : *over) {
          // This daemon may have heard of it meanwhile.
          const bool is_left = open_.contains(one.execution) && !finishing_.contains(one.execution);
          if (is_left && is_due(refinish_, one.execution)) finish(one.execution, one.status);
        }
      });
}

// Where many share a store: another may have cancelled what is held here.
void Worker::look_at_held() {
  std::vector<ledger::Claim> claims;
  for (const auto& [_, work] : held_) claims.push_back(work->claim());
  if (claims.empty()) return;
  ask_store(
      around_.ledger, around_.loop,
      [claims](Transaction& transaction) { return ledger::find_lost(transaction, claims); },
      [this](const std::expected<std::vector<ledger::Claim>, Error>& lost) {
        if (!lost) return;
        for (const ledger::Claim& claim : *lost) drop({claim, std::nullopt});
      });
}

}  // namespace reeve::runtime
