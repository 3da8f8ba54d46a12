#include "tests/simulation/simulation.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "json/encode.h"
#include "ledger/approvals.h"
#include "ledger/attempts.h"
#include "ledger/audit_check.h"
#include "ledger/claims.h"
#include "ledger/group_commit.h"
#include "ledger/leases.h"
#include "ledger/units.h"
#include "spec/workflow_file.h"
#include "store/sqlite.h"
#include "tests/simulation/invariants.h"
#include "tests/simulation/world.h"
#include "tests/support/engine/random_workflow.h"
#include "tests/support/store/flows.h"
#include "tests/support/store/stores.h"

namespace reeve::simulation {

namespace {

using base::Value;
using ledger::Claim;
using ledger::StepResult;
using ledger::Transaction;
using ledger::Unit;
using store::Row;
using store::Sql;

constexpr base::Milliseconds lease = std::chrono::seconds(15);
// The keepers of a host give up this long after its lease.
constexpr base::Milliseconds adopt_grace = std::chrono::seconds(20);
constexpr int max_steps = 20'000;
constexpr std::uint64_t one_in_crashes = 40;
constexpr std::size_t early_crashes = 3;

// Thrown where the process dies.
struct Crash {};

class FunctionUnit final : public Unit {
 public:
  explicit FunctionUnit(std::function<void(Transaction&)> act, std::function<void()> done)
      : act_(std::move(act)), done_(std::move(done)) {}
  void run(Transaction& transaction) override { act_(transaction); }
  void finish(const std::optional<base::Error>& error) override {
    if (error) throw std::logic_error("a unit failed: " + error->message());
    done_();
  }

 private:
  std::function<void(Transaction&)> act_;
  std::function<void()> done_;
};

// The memory of one daemon, lost when it dies.
struct Daemon {
  std::size_t host = 0;
  std::unique_ptr<store::Session> session;
  std::unique_ptr<ledger::GroupCommit> commits;
  ledger::Executions executions;
  ledger::WorkerCapacity worker;
  // Claimed with the process not yet started; claimed and started.
  std::vector<Claim> to_start;
  std::vector<Claim> running;
  // No longer its own: their processes must be ended.
  std::vector<Claim> to_end;
};

class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options),
        random_(options.seed * 2 + (options.has_crashes ? 1 : 0)),
        place_{store::Place::Kind::memory, fmt::format("sim-{}-{}", options.seed, options.has_crashes)},
        watcher_(store::open_writer(place_, clock_)) {}

  Report run() {
    make_workflows();
    while (daemon_count() < 2) start_daemon(daemons_[0] ? 1 : 0);
    attempt("start", 0, [&](Daemon& daemon) {
      auto result = std::make_shared<StepResult>();
      auto number = std::make_shared<std::int64_t>(0);
      submit(
          daemon,
          [this, result, number, &daemon](Transaction& transaction) {
            *result = {};
            *number = daemon.executions.start(transaction, wanted_, daemon.worker, *result).number();
          },
          [this, result, number, &daemon] {
            root_ = *number;
            take_work(daemon, *result);
          });
    });
    for (int step = 0; step < max_steps && report_.broken.empty(); ++step) {
      if (root_ == 0) find_root();
      if (is_over_ && !wants_more() && !has_live_run()) break;
      take_step(step);
      check_invariants();
    }
    if (!is_over_) report_.broken.push_back("it did not end");
    check_end();
    return std::move(report_);
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_.below(below); }

  void make_workflows() {
    // A separate generator, so that the workflow is the same with and without crashes.
    base::SeededRandom dice(options_.seed);
    const bool has_races = options_.has_races;
    const model::Workflow inner = testing::make_random_workflow(
        dice, {.depth = 1, .allows_races = has_races, .fail_fast = has_races && dice.below(2) == 0});
    model::Workflow outer = testing::make_random_workflow(dice, {.depth = static_cast<int>(3 + dice.below(2)),
                                                                 .allows_races = has_races,
                                                                 .fail_fast = has_races && dice.below(2) == 0,
                                                                 .subgraphs = {"inner"}});
    while (outer.nodes.size() < 12) {
      outer = testing::make_random_workflow(dice, {.depth = 4,
                                                   .allows_races = has_races,
                                                   .fail_fast = has_races && dice.below(2) == 0,
                                                   .subgraphs = {"inner"}});
    }
    report_.nodes = outer.nodes.size();
    for (const model::Node& node : outer.nodes) ++report_.types[node.type];
    wanted_ = testing::make_execution(outer);
    invariants_.emplace(place_.where, outer.config.max_parallel_nodes);
    wanted_.subgraphs.emplace("inner", ledger::NewExecution::Subgraph{spec::hash_content(inner), inner});
  }

  // --- daemons ---

  std::size_t daemon_count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(daemons_, [](const auto& daemon) { return daemon != nullptr; }));
  }

  void trace(const std::string& line) { report_.trace += line + "\n"; }

  void crash_point(std::string_view point) {
    ++report_.commits;
    if (!options_.has_crashes) return;
    // Often at first, so that short lives are covered, then occasionally.
    const bool is_early = report_.crashes < early_crashes && report_.commits % 3 == 0;
    if (draw(one_in_crashes) != 0 && !is_early) return;
    ++report_.crash_points[std::string(point)];
    throw Crash{};
  }

  // Lets a daemon act; it may die meanwhile.
  void attempt(const std::string& what, std::size_t index, const std::function<void(Daemon&)>& act) {
    if (!daemons_[index]) return;
    trace(fmt::format("{} {}", index, what));
    try {
      act(*daemons_[index]);
    } catch (const Crash&) {
      trace(fmt::format("{} dies", index));
      ++report_.crashes;
      if (daemons_[index]->worker.daemon != 0) dead_[index].push_back(daemons_[index]->worker.daemon);
      daemons_[index].reset();
      // Occasionally for so long that its keepers give up.
      if (draw(5) == 0) away_until_[index] = clock_.wall_now() + 2 * (lease + adopt_grace);
    }
  }

  void submit(Daemon& daemon, std::function<void(Transaction&)> act, std::function<void()> done) {
    ledger::Group group;
    group.push_back(std::make_unique<FunctionUnit>(std::move(act), std::move(done)));
    daemon.commits->run(std::move(group));
  }

  void start_daemon(std::size_t index) {
    auto daemon = std::make_unique<Daemon>();
    // The watcher has created the schema.
    daemon->session = store::open_sqlite({.path = place_.where, .is_memory = true}, clock_);
    daemon->commits = std::make_unique<ledger::GroupCommit>(
        *daemon->session, ledger::GroupCommit::Hooks{
                              .publish = [this](std::span<const ledger::StoredEvent> events) { see_events(events); },
                              .crash_point = [this](std::string_view point) { crash_point(point); }});
    daemon->host = index;
    Daemon& started = *daemon;
    daemons_[index] = std::move(daemon);
    attempt("starts", index, [&](Daemon&) {
      std::int64_t number = 0;
      submit(
          started,
          [&](Transaction& transaction) {
            // The lock on its state folder proves that its predecessors are dead.
            for (const std::int64_t dead : dead_[index]) ledger::end_lease(transaction, dead);
            number = ledger::register_daemon(transaction, {host_name(index), "boot"}, lease);
          },
          // The number is valid only after the commit: a rolled-back one is given to another daemon.
          [&] { started.worker = {number, draw(4)}; });
      recover(started, index);
    });
  }

  // RUN-13: the work of its predecessors. What never began is started; what runs or has ended is adopted.
  void recover(Daemon& daemon, std::size_t index) {
    submit(
        daemon,
        [&](Transaction& transaction) {
          for (const ledger::LiveAttempt& attempt : ledger::find_live_attempts(transaction.session())) {
            if (attempt.keeper.host != host_name(index)) continue;
            ledger::adopt_attempt(transaction, attempt.run, attempt.claim, daemon.worker.daemon);
          }
        },
        [] {});
    auto lapsed = std::make_shared<std::vector<ledger::LapsedClaim>>();
    submit(daemon, [=](Transaction& transaction) { *lapsed = ledger::find_lapsed(transaction, "", 1'000); }, [] {});
    for (const ledger::LapsedClaim& found : *lapsed) {
      const bool is_own = std::ranges::find(dead_[index], found.daemon) != dead_[index].end();
      if (!is_own && found.is_spawned) continue;
      auto taken = std::make_shared<std::optional<Claim>>();
      submit(
          daemon,
          [=, &daemon](Transaction& transaction) {
            *taken = is_own ? ledger::adopt(transaction, found.claim, daemon.worker.daemon)
                            : ledger::take_over(transaction, found.claim, daemon.worker.daemon);
          },
          [] {});
      if (!*taken) continue;
      ++(is_own ? report_.adoptions : report_.takeovers);
      // A daemon sees only the processes of its own host.
      const auto process = world_.processes.find(key_of(**taken));
      const bool has_begun = process != world_.processes.end() && process->second.host == index;
      (has_begun ? daemon.running : daemon.to_start).push_back(**taken);
    }
  }

  // --- work ---

  void take_work(Daemon& daemon, const StepResult& result) {
    for (const ledger::Work& work : result.work) {
      if (const auto* start = std::get_if<ledger::StartWork>(&work)) daemon.to_start.push_back(start->claim);
      if (const auto* cancel = std::get_if<ledger::CancelWork>(&work)) drop(daemon, cancel->claim);
    }
  }

  static std::string host_name(std::size_t index) { return fmt::format("host-{}", index); }

  static void drop(Daemon& daemon, const Claim& claim) {
    std::erase(daemon.to_start, claim);
    if (std::erase(daemon.running, claim) > 0) daemon.to_end.push_back(claim);
  }

  void begin_work(Daemon& daemon) {
    if (daemon.to_start.empty()) return;
    const std::size_t at = draw(daemon.to_start.size());
    const Claim claim = daemon.to_start[at];
    daemon.to_start.erase(daemon.to_start.begin() + static_cast<std::ptrdiff_t>(at));
    const std::string node = read_of(claim.execution.number(), claim.node, "node_id");
    auto run = std::make_shared<std::optional<base::RunId>>();
    submit(
        daemon,
        [=, &daemon](Transaction& transaction) {
          run->reset();
          if (!ledger::find_lost(transaction, {claim}).empty()) return;
          const base::RunId id = make_run(transaction, claim, node, daemon);
          if (ledger::mark_spawned(transaction, claim, id)) *run = id;
        },
        [] {});
    if (!*run) return;
    crash_point("run.after_tx_spawned");
    world_.start(key_of(claim), daemon.host, **run);
    crash_point("run.after_start");
    daemon.running.push_back(claim);
  }

  // The claim's own run if its daemon died before the process started; else a new one.
  static base::RunId make_run(Transaction& transaction, const Claim& claim, const std::string& node,
                              const Daemon& daemon) {
    const std::string which = fmt::format("{}.{}", claim.iteration, claim.attempt);
    const std::string host = host_name(daemon.host);
    for (const model::Run& run : ledger::find_runs(transaction, claim.execution, node)) {
      if (is_final(run.status) || run.metadata.at("which") != which) continue;
      ledger::rehost_attempt(transaction, run.tool_run_id, run.attempt, daemon.worker.daemon, host);
      return run.tool_run_id;
    }
    const base::RunId id = ledger::create_run(
        transaction,
        {.tool_name = "tool", .execution_id = claim.execution, .node_id = node, .metadata = {{"which", which}}});
    ledger::begin_attempt(transaction, id, {.daemon = daemon.worker.daemon, .keeper = {.host = host}});
    return id;
  }

  void end_run(Daemon& daemon, base::RunId run, model::RunStatus status) {
    submit(
        daemon,
        [=](Transaction& transaction) {
          const store::RunRow row = ledger::lock_run(transaction, run);
          if (!is_final(row.run.status)) ledger::move_run(transaction, run, {.to = status});
        },
        [] {});
  }

  std::optional<base::RunId> find_run(const Claim& claim) const {
    for (const auto& [run, key] : world_.by_run) {
      if (key == key_of(claim)) return run;
    }
    return std::nullopt;
  }

  // Ends work that was taken from it. Occasionally the store refuses the end, or the run is between two daemons.
  void end_cancelled(Daemon& daemon) {
    const std::vector<Claim> all = std::exchange(daemon.to_end, {});
    for (const Claim& claim : all) {
      const auto run = find_run(claim);
      if (!run || draw(3) == 0) continue;
      world_.kill(*run);
      end_run(daemon, *run, model::RunStatus::cancelled);
    }
  }

  // GRF-7: runs that no daemon holds.
  void sweep_orphans(Daemon& daemon) {
    auto found = std::make_shared<std::vector<ledger::Orphan>>();
    submit(
        daemon,
        [=, &daemon](Transaction& transaction) {
          const std::string host = host_name(daemon.host);
          *found = ledger::find_orphans(transaction, host, transaction.now() - adopt_grace, 1'000);
        },
        [] {});
    for (const ledger::Orphan& orphan : *found) {
      // Its keeper has ended it without a daemon.
      world_.kill(orphan.run);
      ++(orphan.lost ? report_.lost_orphans : report_.orphans);
      if (!orphan.lost) {
        end_run(daemon, orphan.run, model::RunStatus::cancelled);
        continue;
      }
      submit(daemon, [=](Transaction& transaction) { ledger::end_lost_orphan(transaction, orphan); }, [] {});
    }
  }

  void look_for_lost(Daemon& daemon) {
    auto lost = std::make_shared<std::vector<Claim>>();
    submit(
        daemon, [=, &daemon](Transaction& transaction) { *lost = ledger::find_lost(transaction, daemon.running); },
        [] {});
    for (const Claim& claim : *lost) drop(daemon, claim);
  }

  bool has_live_run() {
    return !testing::read_column(*watcher_,
                                 "SELECT number FROM tool_runs WHERE status NOT IN ('completed', 'failed', "
                                 "'failed_timeout', 'cancelled') LIMIT 1")
                .empty();
  }

  void end_process() {
    std::vector<WorkKey> alive;
    for (const auto& [key, process] : world_.processes) {
      if (!process.has_ended) alive.push_back(key);
    }
    if (alive.empty()) return;
    const WorkKey key = alive[draw(alive.size())];
    world_.processes[key].has_ended = true;
    trace(fmt::format("ends {}/{}/{}/{}", key.execution, key.node, key.iteration, key.attempt));
  }

  engine::ExecutionEvent result_of(const Claim& claim) {
    const std::string path = path_of(claim.execution.number(), claim.node);
    const auto of_attempt = fmt::format("{}#{}.{}", path, claim.iteration, claim.attempt);
    if (fate(options_.seed, of_attempt, 14) == 0) {
      return engine::NodeFailed{claim.node, model::RetryOn::failed, "broken"};
    }
    const auto of_iteration = fmt::format("{}#{}", path, claim.iteration);
    const bool is_gate = read_of(claim.execution.number(), claim.node, "type") == "gate";
    const bool said_yes = !is_gate || fate(options_.seed, of_iteration + "!", 3) != 0;
    Value outputs = Value::object();
    outputs.set("x", Value::integer(static_cast<std::int64_t>(fate(options_.seed, of_iteration, 10))));
    outputs.set("passed", Value::boolean(said_yes));
    return engine::NodeFinished{claim.node, std::move(outputs), said_yes};
  }

  // One or several results at once, which share a commit.
  void conclude_work(Daemon& daemon) {
    ledger::Group group;
    std::size_t most = 1 + draw(3);
    for (std::size_t i = 0; i < daemon.running.size() && most > 0;) {
      const Claim claim = daemon.running[i];
      if (!world_.processes[key_of(claim)].has_ended) {
        ++i;
        continue;
      }
      if (const auto run = find_run(claim)) end_run(daemon, *run, model::RunStatus::completed);
      daemon.running.erase(daemon.running.begin() + static_cast<std::ptrdiff_t>(i));
      --most;
      group.push_back(make_conclude(daemon.executions, daemon.worker, claim, result_of(claim),
                                    [this, &daemon](const std::optional<base::Error>& error, StepResult& result) {
                                      if (error) report_.broken.push_back("a result was refused: " + error->message());
                                      if (result.is_stale) ++report_.refused_late_writers;
                                      take_work(daemon, result);
                                    }));
    }
    if (!group.empty()) daemon.commits->run(std::move(group));
  }

  void offer_room(Daemon& daemon) {
    std::vector<std::int64_t> executions;
    daemon.session->query(Sql::work_ready,
                          {{"now", base::format_time(clock_.wall_now())}, {"host", ""}, {"after", 0}, {"most", 10}},
                          [&](const Row& row) { executions.push_back(row.integer(0)); });
    if (executions.empty()) return;
    const base::ExecutionId execution(executions[draw(executions.size())]);
    ledger::WorkerCapacity roomy = daemon.worker;
    roomy.room = 1 + draw(3);
    auto result = std::make_shared<StepResult>();
    submit(
        daemon,
        [=, &daemon](Transaction& transaction) {
          *result = {};
          daemon.executions.step(transaction, execution, engine::RoomOffered{}, roomy, *result);
        },
        [=, this, &daemon] { take_work(daemon, *result); });
  }

  // When the outcome is not compared: cancels, or retries what failed.
  bool wants_more() {
    if (!options_.has_races || has_retried_) return false;
    has_retried_ = true;
    const std::size_t index = daemons_[0] ? 0 : 1;
    attempt("retries", index,
            [&](Daemon& daemon) { ask_execution(daemon, engine::RetryRequested{}, report_.retries); });
    return true;
  }

  void ask_execution(Daemon& daemon, const engine::ExecutionEvent& event, std::size_t& accepted) {
    auto result = std::make_shared<StepResult>();
    submit(
        daemon,
        [=, this, &daemon](Transaction& transaction) {
          *result = {};
          daemon.executions.step(transaction, base::ExecutionId(root_), event, daemon.worker, *result);
        },
        [=, this, &daemon, &accepted] {
          if (!result->is_stale) ++accepted;
          take_work(daemon, *result);
        });
  }

  // --- people ---

  void answer(Daemon& daemon) {
    std::vector<store::ApprovalRow> pending;
    daemon.session->query(Sql::approvals_pending,
                          {{"after", 0}, {"project", std::optional<std::string>()}, {"most", 50}},
                          [&](const Row& row) { pending.push_back(store::read_approval(row)); });
    if (pending.empty()) return;
    const store::ApprovalRow& asked = pending[draw(pending.size())];
    const std::string path = path_of(asked.approval.execution_id->number(), static_cast<graph::NodeIndex>(*asked.node));
    const bool says_yes = fate(options_.seed, fmt::format("{}#{}?", path, asked.iteration), 4) != 0;
    const base::ApprovalId id = asked.approval.approval_id;
    auto result = std::make_shared<StepResult>();
    if (draw(4) == 0) {
      ++report_.outside_decisions;
      watcher_->run_script(fmt::format(
          "UPDATE approvals SET status = '{}', chosen_value = '{}', decided_by = 'ana', decided_at = '{}' WHERE "
          "approval_id = '{}' AND status = 'pending'",
          says_yes ? "approved" : "rejected", says_yes ? "approve" : "reject", base::format_time(clock_.wall_now()),
          id.text()));
      return;
    }
    submit(
        daemon,
        [=, &daemon](Transaction& transaction) {
          const auto word = says_yes ? engine::Answer::Word::approve : engine::Answer::Word::reject;
          *result =
              ledger::decide_approval(transaction, daemon.executions, daemon.worker, id, {word, {}, {}, "ana"}).step;
        },
        [=, this, &daemon] { take_work(daemon, *result); });
  }

  void look_outside(Daemon& daemon) {
    for (const base::ApprovalId id : ledger::find_outside(*daemon.session, 10)) {
      auto result = std::make_shared<StepResult>();
      submit(
          daemon,
          [=, &daemon](Transaction& transaction) {
            *result = ledger::settle_outside(transaction, daemon.executions, daemon.worker, id).step;
          },
          [=, this, &daemon] { take_work(daemon, *result); });
    }
  }

  // --- time ---

  void pass_time() {
    const base::Milliseconds passed = std::chrono::seconds(draw(4) == 0 ? 20 : 1);
    clock_.advance(passed);
    trace(fmt::format("time {}", passed.count()));
    for (std::size_t i = 0; i < daemons_.size(); ++i) {
      attempt("renews", i, [&](Daemon& daemon) {
        auto is_held = std::make_shared<bool>(true);
        submit(
            daemon,
            [=, &daemon](Transaction& transaction) {
              *is_held = ledger::renew_lease(transaction, daemon.worker.daemon, lease);
            },
            [] {});
        // A daemon that lost its lease restarts: its claims may belong to another.
        if (!*is_held) throw Crash{};
      });
    }
  }

  void take_step(int step) {
    const std::size_t index = draw(2);
    if (!daemons_[index]) {
      // It stays away for a while, so that the other daemon has to take over.
      const bool may_start = clock_.wall_now() >= away_until_[index] && draw(6) == 0;
      if (daemon_count() == 0 || may_start) start_daemon(index);
      return;
    }
    switch (draw(9)) {
      case 0:
      case 1:
        return attempt("begins", index, [&](Daemon& daemon) { begin_work(daemon); });
      case 2:
      case 3:
        return end_process();
      case 4:
      case 5:
        return attempt("concludes", index, [&](Daemon& daemon) { conclude_work(daemon); });
      case 6:
        return attempt("answers", index, [&](Daemon& daemon) {
          answer(daemon);
          look_outside(daemon);
        });
      case 7:
        return attempt("has room", index, [&](Daemon& daemon) { offer_room(daemon); });
      default:
        if (step % 3 == 0) return pass_time();
        // Early or not at all: a cancel must not hide a hang.
        if (options_.has_races && root_ != 0 && step < 300 && draw(20) == 0) {
          return attempt("cancels", index, [&](Daemon& daemon) {
            ask_execution(daemon, engine::CancelRequested{"enough"}, report_.cancels);
          });
        }
        return attempt("looks for the lost", index, [&](Daemon& daemon) {
          recover(daemon, index);
          look_for_lost(daemon);
          end_cancelled(daemon);
          sweep_orphans(daemon);
        });
    }
  }

  // --- what must be true ---

  void see_events(std::span<const ledger::StoredEvent> events) {
    for (const ledger::StoredEvent& event : events) {
      // A daemon that dies between commit and publishing leaves a gap for its subscribers, never in the store.
      if (event.seq <= last_event_) report_.broken.push_back(fmt::format("event {} was told twice", event.seq));
      last_event_ = event.seq;
      if (event.facts != ledger::read_facts(event)) {
        report_.broken.push_back(fmt::format("the facts of event {} differ from its text {}", event.seq, event.data));
      }
    }
  }

  void expect_none(const std::string& what, const std::string& sql) {
    const std::string found = testing::read_column(*watcher_, sql);
    if (!found.empty()) report_.broken.push_back(what + ": " + found);
  }

  // After every step that committed something.
  void check_invariants() {
    if (report_.commits == checked_commits_) return;
    checked_commits_ = report_.commits;
    Invariants::Findings findings;
    findings.broken = [&](const std::string& what) { report_.broken.push_back(what); };
    findings.final = [&](std::int64_t slot, std::int64_t resets, const std::string& status) {
      check_final_state({slot, resets}, status);
    };
    invariants_->check(findings);
    is_over_ = root_ != 0 && !findings.is_alive;
    const ledger::AuditVerdict verdict = ledger::verify_audit(*watcher_);
    if (!verdict.is_whole()) report_.broken.push_back("the audit chain is broken: " + verdict.reason);
    for (const auto& [key, times] : world_.effects) {
      if (times > 1) report_.broken.push_back(fmt::format("node {} of EX-{} ran twice", key.node, key.execution));
    }
  }

  // A final state does not change unless a loop or a retry resets the node, which is counted.
  void check_final_state(const std::pair<std::int64_t, std::int64_t>& slot_and_resets, std::string_view status) {
    const auto [known, is_new] = final_.try_emplace(slot_and_resets, status);
    if (!is_new && known->second != status) {
      report_.broken.push_back(fmt::format("a final state changed: {} to {}", known->second, status));
    }
  }

  void check_end() {
    expect_none("not over", "SELECT number FROM executions WHERE status IN ('running', 'waiting_approval')");
    expect_none("a node that is not over",
                "SELECT slot FROM node_executions WHERE status IN ('pending', 'ready', 'running', 'waiting_approval')");
    // GRF-7: in the store and in the simulated world.
    expect_none(
        "a run that outlived its execution",
        "SELECT number FROM tool_runs WHERE status NOT IN ('completed', 'failed', 'failed_timeout', 'cancelled')");
    for (const auto& [key, process] : world_.processes) {
      if (process.has_ended) continue;
      report_.broken.push_back(fmt::format("the process of node {} outlived EX-{}", key.node, key.execution));
    }
    // Every command recorded as done was started exactly once.
    watcher_->query_text(
        "SELECT execution, node, iteration, attempt FROM node_executions WHERE status = 'completed' AND type IN "
        "('task', "
        "'gate')",
        [&](const Row& row) {
          const WorkKey key{row.integer(0), static_cast<graph::NodeIndex>(row.integer(1)),
                            static_cast<int>(row.integer(2)), static_cast<int>(row.integer(3))};
          const auto found = world_.effects.find(key);
          if (found == world_.effects.end() || found->second != 1) {
            report_.broken.push_back(
                fmt::format("node {} of EX-{} is done without having run", key.node, key.execution));
          }
        });
    if (root_ != 0) describe(root_, "");
  }

  // --- what is stored ---

  // A crash may have hidden the start.
  void find_root() {
    watcher_->query_text("SELECT number FROM executions WHERE parent IS NULL",
                         [&](const Row& row) { root_ = row.integer(0); });
    if (root_ != 0) return;
    for (std::size_t i = 0; i < daemons_.size(); ++i) {
      if (!daemons_[i] || root_ != 0) continue;
      attempt("starts it again", i, [&](Daemon& daemon) {
        auto result = std::make_shared<StepResult>();
        submit(
            daemon,
            [=, this, &daemon](Transaction& transaction) {
              *result = {};
              daemon.executions.start(transaction, wanted_, daemon.worker, *result);
            },
            [=, this, &daemon] { take_work(daemon, *result); });
      });
      watcher_->query_text("SELECT number FROM executions WHERE parent IS NULL",
                           [&](const Row& row) { root_ = row.integer(0); });
    }
  }

  // A column of a node that never changes.
  std::string read_of(std::int64_t execution, graph::NodeIndex node, const std::string& column) {
    const std::int64_t slot = ledger::slot_of(execution, node);
    std::string& text = columns_[{slot, column}];
    if (text.empty()) {
      text =
          testing::read_column(*watcher_, fmt::format("SELECT {} FROM node_executions WHERE slot = {}", column, slot));
      text.resize(text.find('\n'));
    }
    return text;
  }

  // Identifies a node by its path in the workflow, not by numbers that depend on timing.
  const std::string& path_of(std::int64_t execution, graph::NodeIndex node) {
    std::string& path = paths_[ledger::slot_of(execution, node)];
    if (!path.empty()) return path;
    watcher_->query_text(
        fmt::format(
            "SELECT e.parent, e.parent_node, n.node_id FROM executions e JOIN node_executions n ON n.execution = "
            "e.number WHERE n.slot = {}",
            ledger::slot_of(execution, node)),
        [&](const Row& row) {
          const auto parent = row.find_integer(0);
          const std::string own(row.text(2));
          const auto parent_node = static_cast<graph::NodeIndex>(row.integer(1));
          path = own;
          if (parent) path = fmt::format("{}#{}/{}", path_of(*parent, parent_node), iteration_of(execution), own);
        });
    return path;
  }

  // The iteration of the node that started it.
  std::int64_t iteration_of(std::int64_t child) {
    std::int64_t iteration = -1;
    watcher_->query_text(
        fmt::format("SELECT iteration FROM node_executions WHERE child = {0} UNION ALL SELECT iteration "
                    "FROM node_history WHERE child = {0}",
                    child),
        [&](const Row& row) { iteration = row.integer(0); });
    return iteration;
  }

  void describe(std::int64_t execution, const std::string& indent) {
    const std::string status =
        testing::read_column(*watcher_, fmt::format("SELECT status FROM executions WHERE number = {}", execution));
    report_.outcome += indent + status;
    std::vector<std::pair<std::string, std::optional<std::int64_t>>> nodes;
    watcher_->query_text(
        fmt::format(
            "SELECT node_id, status, iteration, attempt, outputs, child FROM node_executions WHERE execution = {} "
            "ORDER BY slot",
            execution),
        [&](const Row& row) {
          nodes.emplace_back(fmt::format("{} {} #{}.{} {}", row.text(0), row.text(1), row.integer(2), row.integer(3),
                                         row.is_null(4) ? "-" : std::string(row.text(4))),
                             row.find_integer(5));
        });
    for (const auto& [line, child] : nodes) {
      report_.outcome += indent + line + "\n";
      if (child) describe(*child, indent + "  ");
    }
  }

  SimulationOptions options_;
  base::SeededRandom random_;
  testing::HandClock clock_;
  store::Place place_;
  // Reads everything and never crashes; keeps the store in memory alive.
  std::unique_ptr<store::Session> watcher_;
  std::optional<Invariants> invariants_;
  std::array<std::unique_ptr<Daemon>, 2> daemons_;
  // When the next daemon of a host may start.
  std::array<base::WallTime, 2> away_until_{};
  // Daemons that died, by host.
  std::array<std::vector<std::int64_t>, 2> dead_;
  ledger::NewExecution wanted_;
  World world_;
  Report report_;
  std::int64_t root_ = 0;
  std::int64_t last_event_ = 0;
  bool is_over_ = false;
  bool has_retried_ = false;
  std::size_t checked_commits_ = 0;
  // Constant values, read once.
  std::map<std::int64_t, std::string> paths_;
  std::map<std::pair<std::int64_t, std::string>, std::string> columns_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> final_;
};

}  // namespace

Report simulate(const SimulationOptions& options) { return Simulation(options).run(); }

}  // namespace reeve::simulation
