#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"
#include "runtime/settings/gate_results.h"
#include "store/executions.h"
#include "store/runs.h"

// Recovery of executions whose daemon died, whether this daemon's predecessor or another, and cleanup at the end of
// executions.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t max_lapsed = 10'000;
constexpr std::int64_t max_orphans = 10'000;
// Executions checked per poll.
constexpr std::size_t max_swept = 1'000;
constexpr auto poll_pause = std::chrono::seconds(1);
// With a shared store, other daemons may announce work at any time.
constexpr base::Milliseconds shared_pause(20);

}  // namespace

void ExecutionDriver::begin(std::function<void()> done) {
  settle_starts([this, done = std::move(done)] {
    adopt([this, done] {
      has_begun_ = true;
      note_room();
      offer_room();
      // No run of an ended execution may still be active when it is cleaned up.
      end_orphans([this] { finish_open(); });
      done();
    });
  });
}

// Renames settings files that a dead daemon wrote for executions; removes those whose execution never came to exist.
void ExecutionDriver::settle_starts(std::function<void()> done) {
  const std::vector<std::string> drafts = find_settings_drafts(context_.folder);
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
  const auto settle = [drafts, folder = context_.folder](const std::expected<Named, Error>& named) {
    if (!named) return;
    for (const std::string& nonce : drafts) {
      const auto found = named->find(nonce);
      if (found != named->end()) {
        name_settings(folder, nonce, found->second);
      } else {
        drop_settings_draft(folder, nonce);
      }
    }
  };
  ask_store(context_.ledger, context_.loop, StoreSteps{.before = [] {}, .work = find, .after = settle},
            [done](const std::expected<Named, Error>& named) {
              // Without these files, executions would continue with a different environment: the next daemon tries
              // again.
              if (!named) throw named.error();
              done();
            });
}

// GRF-13: the claims of a dead daemon pass to its successor on the same host. Claims of other hosts that never began
// are open to any daemon.
void ExecutionDriver::adopt(std::function<void()> done) {
  ask_store(
      context_.ledger, context_.loop,
      [worker = capacity(0), is_first = !has_begun_, grace = context_.supervision.adopt_grace,
       &ledger = context_.ledger](Transaction& transaction) {
        if (is_first) ledger::end_leases_of(transaction, worker.host, worker.daemon);
        std::vector<Found> all;
        for (const ledger::LapsedClaim& lapsed : ledger::find_lapsed(transaction, worker.host, max_lapsed)) {
          const bool is_own = lapsed.host == worker.host;
          // Begun on another host: its own daemon may return until its keepers have given up, plus a margin.
          const bool is_given_up = lapsed.lapsed_at + grace + grace / 4 <= transaction.now();
          if (!is_own && lapsed.is_spawned && !is_given_up) continue;
          auto found = take_left(transaction, ledger.executions(), lapsed, worker);
          if (found) all.push_back(std::move(*found));
        }
        return all;
      },
      [this, done](std::expected<std::vector<Found>, Error> found) {
        // At start, nothing could continue without this: the next daemon starts at once and tries again.
        if (!found && !has_begun_) throw found.error();
        if (found) {
          take_found(std::move(*found));
        } else {
          context_.log_warning("cannot look for work that other daemons left: " + found.error().message());
        }
        done();
      });
}

// Adopts a node that began together with its run; the caller knows that the run has no live processes, or belongs to
// this host.
std::optional<ExecutionDriver::Found> ExecutionDriver::take_left(Transaction& transaction,
                                                                 ledger::Executions& executions,
                                                                 const ledger::LapsedClaim& lapsed,
                                                                 const ledger::WorkerCapacity& worker) {
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

void ExecutionDriver::take_found(std::vector<Found> all) {
  for (Found& found : all) {
    if (found.runs.empty()) {
      begin_work(found.held.work);
      continue;
    }
    hold(found.held.work, [this, runs = std::move(found.runs), is_foreign = found.is_foreign](NodeExecutor& work) {
      const auto go_on = [this, runs](NodeExecutor& held) {
        held.resume(runs);
        if (held.run()) read_run(*held.run());
      };
      if (is_foreign) return work.take_over(runs.back(), go_on);
      go_on(work);
    });
  }
}

// The run may have ended between reading it and now, without a subscriber.
void ExecutionDriver::read_run(base::RunId run) {
  ask_store(
      context_.ledger, context_.loop,
      [run](Transaction& transaction) { return store::find_run(transaction.session(), run); },
      [this](const std::expected<std::optional<store::RunRow>, Error>& row) {
        if (row && *row) on_run_changed((*row)->run);
      });
}

void ExecutionDriver::on_attempt_lost(const AttemptLost& lost) {
  const model::Run& run = lost.run;
  const auto& answer = lost.answer;
  const bool is_gate = !find_word(run, commit_key).empty();
  const bool is_of_node = run.execution_id && (is_gate || run.node_id);
  if (!is_of_node) return answer(std::nullopt);
  with_place(*run.execution_id, [this, run, is_gate, answer](std::expected<Place, Error> place) {
    if (!place) return answer(place.error());
    if (!place->settings->base_commit) return answer(std::nullopt);
    const IsolationSettings settings = make_isolation_settings(*place->settings);
    const auto report = [answer](const auto& done) {
      answer(done ? std::nullopt : std::optional<Error>(done.error()));
    };
    if (is_gate) {
      const Isolation::Checkout checkout{
          .folder = run.cwd, .commit = find_word(run, commit_key), .tree = find_word(run, tree_key)};
      return helpers_.isolation.renew_checkout(settings, place->root, checkout, report);
    }
    helpers_.isolation.set_back(settings, place_of(run, place->root), report);
  });
}

void ExecutionDriver::find_orphans(Answer<std::vector<ledger::Orphan>> then) {
  const base::Milliseconds grace = context_.supervision.adopt_grace;
  ask_store(
      context_.ledger, context_.loop,
      [host = context_.host, grace](Transaction& transaction) {
        return ledger::find_orphans(transaction, host, transaction.now() - grace - grace / 4, max_orphans);
      },
      std::move(then));
}

// Called at start, before any cleanup. Retried until it succeeds.
void ExecutionDriver::end_orphans(std::function<void()> done) {
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

// Failures are picked up by the next sweep.
void ExecutionDriver::end_orphan(const ledger::Orphan& orphan, std::function<void()> done) {
  if (!orphan.lost) {
    return helpers_.supervisor.cancel_and_wait(orphan.run, {.by = "reeve", .reason = "its node has ended"}, done);
  }
  ask_store(
      context_.ledger, context_.loop,
      [orphan](Transaction& transaction) { return ledger::end_lost_orphan(transaction, orphan); },
      [done](const std::expected<bool, Error>&) { done(); });
}

// GRF-7: no run outlives its execution. If ending a run failed in the store, or was requested while the run was between
// two daemons, nothing else handles it: runs of nodes without work here are checked again.
void ExecutionDriver::sweep_orphans() {
  const base::BootTime now = context_.loop.now();
  if (is_sweeping_orphans_ || now < next_stray_sweep_) return;
  const auto runs = helpers_.supervisor.find_runs_of_nodes();
  const bool has_stray = std::ranges::any_of(runs, [this](base::RunId run) { return !by_run_.contains(run); });
  // Runs of dead hosts are visible only in the store.
  const bool is_due = context_.lease && now >= next_orphan_sweep_;
  if (!has_stray && !is_due) return;
  next_stray_sweep_ = now + context_.supervision.poll_interval;
  next_orphan_sweep_ = now + std::max(context_.supervision.poll_interval, context_.supervision.lease);
  is_sweeping_orphans_ = true;
  find_orphans([this](const std::expected<std::vector<ledger::Orphan>, Error>& orphans) {
    is_sweeping_orphans_ = false;
    if (!orphans) return;
    for (const ledger::Orphan& orphan : *orphans) end_orphan(orphan, [] {});
  });
}

void ExecutionDriver::on_node_gone(base::ExecutionId root) {
  const auto found = ending_.find(root);
  if (found == ending_.end() || --found->second > 0) return;
  ending_.erase(found);
  if (const auto over = to_finish_.extract(root)) finish(root, over.mapped());
}

// For a node without a run that says `apply`; repeated at the end of the execution if a crash came in between.
void ExecutionDriver::apply(base::ExecutionId execution) {
  with_place(execution, [this, execution](std::expected<Place, Error> place) {
    if (!place && is_of_store(place.error())) return later([this, execution] { apply(execution); });
    if (place && place->settings->base_commit) apply_passed(place->root, place->settings, [] {});
  });
}

void ExecutionDriver::log_unapplied(base::ExecutionId root, const std::string& why) const {
  context_.log_warning(fmt::format("the changes of {} were not applied: {}", root.text(), why));
}

// Work at the end of an execution (ISO-3); repeated by the next daemon until done.
void ExecutionDriver::finish(base::ExecutionId root, model::ExecutionStatus status) {
  finishing_.insert(root);
  if (ending_.contains(root)) {
    to_finish_.insert_or_assign(root, status);
    return;
  }
  with_place(root, [this, root, status](std::expected<Place, Error> place) {
    settings_cache_.erase(root);
    if (!place && is_of_store(place.error())) return later([this, root, status] { finish(root, status); });
    if (!place || !place->settings->base_commit) return close(root, status, nullptr);
    if (status != model::ExecutionStatus::completed) return close(root, status, place->settings);
    apply_passed(root, place->settings,
                 [this, root, status, settings = place->settings] { close(root, status, settings); });
  });
}

// ISO-3: applies only if every gate passed.
void ExecutionDriver::apply_passed(base::ExecutionId root, const SharedSettings& settings, std::function<void()> done) {
  ask_store(
      context_.ledger, context_.loop,
      [root](Transaction& transaction) { return ledger::find_refusing_gate(transaction, root); },
      [this, root, settings, done](const std::expected<std::optional<std::string>, Error>& refusing) {
        // An unknown result is not a refusal: retried until it is known.
        if (!refusing) return later([this, root, settings, done] { apply_passed(root, settings, done); });
        if (*refusing) {
          log_unapplied(root, fmt::format("gate {} did not pass", base::quoted(**refusing)));
          unapplied_.insert(root);
          return done();
        }
        helpers_.isolation.apply(make_isolation_settings(*settings), root, settings->apply,
                                 [this, root, done](const std::expected<Isolation::Applied, Error>& applied) {
                                   if (!applied) log_unapplied(root, applied.error().message());
                                   const bool is_held = applied && applied->kind == Isolation::Applied::Kind::held;
                                   if (is_held) log_unapplied(root, applied->message);
                                   if (!applied || applied->waits) {
                                     unapplied_.insert(root);
                                   } else {
                                     unapplied_.erase(root);
                                   }
                                   done();
                                 });
      });
}

void ExecutionDriver::close(base::ExecutionId root, model::ExecutionStatus status, const SharedSettings& settings) {
  const auto end = [this, root, status](bool is_done) {
    finishing_.erase(root);
    // Otherwise the next daemon finds it open and tries again.
    if (is_done) {
      open_.erase(root);
      refinish_.erase(root);
      close_settings(context_.folder, root);
      // A failed execution may be retried with its original environment, and unapplied changes may still be applied.
      const bool is_needed = status == model::ExecutionStatus::failed || unapplied_.contains(root);
      if (!is_needed) remove_settings(context_.folder, root);
      unapplied_.erase(root);
    } else {
      put_off(refinish_, root);
    }
    if (const auto waiting = after_finish_.extract(root)) {
      for (const auto& go_on : waiting.mapped()) go_on();
    }
  };
  if (settings == nullptr) return end(true);
  helpers_.isolation.close(make_isolation_settings(*settings), root, end);
}

void ExecutionDriver::finish_open() {
  const std::vector<base::ExecutionId> open = find_open_settings(context_.folder);
  struct State {
    // Nothing if it never came to exist.
    std::map<base::ExecutionId, std::optional<model::ExecutionStatus>> executions;
  };
  ask_store(
      context_.ledger, context_.loop,
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
            remove_settings(context_.folder, id);
            continue;
          }
          alive.insert(id);
          note_open(id);
          if (model::is_over(*status)) finish(id, *status);
        }
        helpers_.isolation.begin(std::move(alive), [] {});
      });
}

void ExecutionDriver::poll() {
  if (!has_begun_ || is_polling_) return;
  const base::BootTime now = context_.loop.now();
  const bool is_soon = now - polled_at_ < (context_.lease ? shared_pause : base::Milliseconds(poll_pause));
  if (is_soon) return;
  polled_at_ = now;
  offer_room();
  sweep_orphans();
  if (!context_.lease) return;
  is_polling_ = true;
  adopt([this] { is_polling_ = false; });
  poll_held();
  find_migratable();
  sweep_settings();
}

// Without a shared store, this daemon is notified of every end.
void ExecutionDriver::note_open(base::ExecutionId root) {
  if (context_.lease) open_.insert(root);
}

// Cleans up executions that were started here and ended on another daemon; nothing else removes their files on this
// host.
void ExecutionDriver::sweep_settings() {
  const base::BootTime now = context_.loop.now();
  if (open_.empty() || is_sweeping_ || now < next_sweep_) return;
  next_sweep_ = now + context_.supervision.poll_interval;
  is_sweeping_ = true;
  std::vector<base::ExecutionId> some;
  auto next = open_.upper_bound(swept_to_);
  for (; next != open_.end() && some.size() < max_swept; ++next) some.push_back(*next);
  swept_to_ = next != open_.end() ? some.back() : base::ExecutionId(0);
  ask_store(
      context_.ledger, context_.loop, [some](Transaction& transaction) { return ledger::find_over(transaction, some); },
      [this](const std::expected<std::vector<ledger::Over>, Error>& over) {
        is_sweeping_ = false;
        if (!over) return;
        for (const ledger::Over& one : *over) {
          // This daemon may have been notified meanwhile.
          const bool is_left = open_.contains(one.execution) && !finishing_.contains(one.execution);
          if (is_left && is_due(refinish_, one.execution)) finish(one.execution, one.status);
        }
      });
}

// With a shared store, another daemon may have cancelled nodes held here.
void ExecutionDriver::poll_held() {
  std::vector<ledger::Claim> claims;
  for (const auto& [_, work] : held_) claims.push_back(work->claim());
  if (claims.empty()) return;
  ask_store(
      context_.ledger, context_.loop,
      [claims](Transaction& transaction) { return ledger::find_lost(transaction, claims); },
      [this](const std::expected<std::vector<ledger::Claim>, Error>& lost) {
        if (!lost) return;
        for (const ledger::Claim& claim : *lost) drop({claim, std::nullopt});
      });
}

}  // namespace reeve::runtime
