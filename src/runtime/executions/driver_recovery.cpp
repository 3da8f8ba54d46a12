#include <utility>

#include "runtime/executions/adoption.h"
#include "runtime/executions/execution_driver.h"
#include "runtime/loop/store_task.h"
#include "runtime/settings/gate_results.h"
#include "store/runs.h"

// Work of daemons that died, whether this daemon's predecessor or another, and what each poll checks.
namespace reeve::runtime {

namespace {

using base::Error;
using ledger::Transaction;

constexpr std::int64_t max_lapsed = 10'000;
constexpr auto poll_pause = std::chrono::seconds(1);
// With a shared store, other daemons may announce work at any time.
constexpr base::Milliseconds shared_pause(20);

}  // namespace

void ExecutionDriver::begin(std::function<void()> done) {
  settle_settings_drafts(context_, [this, done = std::move(done)] {
    adopt([this, done] {
      has_begun_ = true;
      announce_room();
      offer_room();
      // No run of an ended execution may still be active when it is cleaned up.
      orphans_.end_all([this] { cleanup_.begin_left(); });
      done();
    });
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
        std::vector<AdoptedNode> all;
        for (const ledger::LapsedClaim& lapsed : ledger::find_lapsed(transaction, worker.host, max_lapsed)) {
          const bool is_own = lapsed.host == worker.host;
          // Begun on another host: its own daemon may return until its keepers have given up, plus a margin.
          const bool is_given_up = lapsed.lapsed_at + grace + grace / 4 <= transaction.now();
          if (!is_own && lapsed.is_spawned && !is_given_up) continue;
          auto node = adopt_node(transaction, ledger.executions(), lapsed, worker);
          if (node) all.push_back(std::move(*node));
        }
        return all;
      },
      [this, done](const std::expected<std::vector<AdoptedNode>, Error>& nodes) {
        // At start, nothing could continue without this: the next daemon starts at once and tries again.
        if (!nodes && !has_begun_) throw nodes.error();
        if (nodes) {
          resume(*nodes);
        } else {
          context_.log_warning("cannot look for work that other daemons left: " + nodes.error().message());
        }
        done();
      });
}

void ExecutionDriver::on_execution_migrated(const ExecutionMigrated& migrated) {
  resume(migrated.nodes);
  perform(migrated.step);
}

void ExecutionDriver::resume(const std::vector<AdoptedNode>& nodes) {
  for (const AdoptedNode& node : nodes) {
    if (node.runs.empty()) {
      begin_work(node.held.work);
      continue;
    }
    hold(node.held.work, [this, runs = node.runs, is_foreign = node.is_foreign](NodeExecutor& work) {
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
  settings_.read(*run.execution_id,
                 [this, run, is_gate, answer](const std::expected<StoredSettings::Place, Error>& place) {
                   if (!place) return answer(place.error());
                   if (!place->settings->base_commit) return answer(std::nullopt);
                   const IsolationSettings settings = make_isolation_settings(*place->settings);
                   const auto report = [answer](const auto& done) {
                     answer(done ? std::nullopt : std::optional<Error>(done.error()));
                   };
                   if (is_gate) {
                     const Isolation::Checkout checkout{
                         .folder = run.cwd, .commit = find_word(run, commit_key), .tree = find_word(run, tree_key)};
                     return parts_.isolation.renew_checkout(settings, place->root, checkout, report);
                   }
                   parts_.isolation.set_back(settings, place_of(run, place->root), report);
                 });
}

void ExecutionDriver::poll() {
  if (!has_begun_) return;
  const base::BootTime now = context_.loop.now();
  const base::Milliseconds pause = context_.lease ? shared_pause : base::Milliseconds(poll_pause);
  if (now - polled_at_ < pause) {
    context_.ledger.report_next_poll();
    // What another daemon has left or decided must not wait for the next poll.
    if (context_.lease) next_poll_ = context_.loop.at(polled_at_ + pause, [this] { poll(); });
    return;
  }
  next_poll_ = {};
  polled_at_ = now;
  offer_room();
  orphans_.poll([this](base::RunId run) { return by_run_.contains(run); });
  if (!context_.lease || !adopting_.begin()) return;
  adopt([this] {
    if (adopting_.end()) poll();
  });
  poll_held();
  migration_.poll();
  cleanup_.poll();
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
        for (const ledger::Claim& claim : *lost) drop(claim);
      });
}

}  // namespace reeve::runtime
