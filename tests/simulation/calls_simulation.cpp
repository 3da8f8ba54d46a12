#include "tests/simulation/calls_simulation.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "ledger/approvals.h"
#include "ledger/audit_check.h"
#include "ledger/group_commit.h"
#include "ledger/tool_calls.h"
#include "ledger/units.h"
#include "store/runs.h"
#include "store/sqlite.h"
#include "tests/support/store/stores.h"

namespace reeve::simulation {

namespace {

using ledger::CallStored;
using ledger::Transaction;
using model::CallDecision;
using model::RunStatus;
using store::Row;

constexpr int max_steps = 400;
constexpr std::uint64_t one_in_crashes = 12;
constexpr std::size_t max_attempts = 6;

// Thrown where the daemon dies.
struct Crash {};

class FunctionUnit final : public ledger::Unit {
 public:
  explicit FunctionUnit(std::function<void(Transaction&)> act) : act_(std::move(act)) {}
  void run(Transaction& transaction) override { act_(transaction); }
  void finish(const std::optional<base::Error>& error) override {
    if (error) throw std::logic_error("a unit failed: " + error->message());
  }

 private:
  std::function<void(Transaction&)> act_;
};

struct Daemon {
  std::unique_ptr<store::Session> session;
  std::unique_ptr<ledger::GroupCommit> commits;
  ledger::Executions executions;
  ledger::WorkerCapacity worker;
};

// A call as the agent knows it. It survives the daemon, and is asked again until the agent has an answer.
struct AgentCall {
  std::string name;
  std::string tool;
  bool is_hosted = false;
  std::optional<base::CallId> id = {};
  std::optional<CallDecision> told = {};
  bool has_run = false;
  bool is_reported = false;
};

class CallsSimulation {
 public:
  explicit CallsSimulation(std::uint64_t seed)
      : random_(seed),
        place_{store::Place::Kind::memory, fmt::format("calls-{}", seed)},
        watcher_(store::open_writer(place_, clock_)) {
    policies_.tools["mcp:t/allowed"] = {{.policy = model::Policy::auto_approve, .when = {}}};
    policies_.tools["mcp:t/denied"] = {{.policy = model::Policy::deny, .when = {}}};
  }

  CallsReport run() {
    start_daemon();
    // No crash before there is a run.
    std::optional<base::RunId> made;
    submit([&](Transaction& transaction) {
      made = create_run(transaction, {.tool_name = "agent"});
      begin_attempt(transaction, *made, {.epoch = 1, .keeper = {.host = "here"}});
    });
    run_ = made;
    for (int step = 0; step < max_steps && report_.broken.empty() && !is_over(); ++step) {
      try {
        take_step();
      } catch (const Crash&) {
        ++report_.crashes;
        trace("the daemon dies");
        start_daemon();
      }
      check();
    }
    finish();
    return std::move(report_);
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_.below(below); }
  void trace(const std::string& line) { report_.trace += line + "\n"; }

  void start_daemon() {
    daemon_ = std::make_unique<Daemon>();
    daemon_->session = store::open_sqlite({.path = place_.where, .is_memory = true}, clock_);
    daemon_->commits = std::make_unique<ledger::GroupCommit>(
        *daemon_->session, ledger::GroupCommit::Hooks{.publish = [](std::span<const ledger::StoredEvent>) {},
                                                      .crash_point = [this](std::string_view) { crash_point(); }});
  }

  void crash_point() {
    if (run_ && !is_ending_ && draw(one_in_crashes) == 0) throw Crash{};
  }

  // What it stored may have been committed although it crashes.
  void submit(std::function<void(Transaction&)> act) {
    ledger::Group group;
    group.push_back(std::make_unique<FunctionUnit>(std::move(act)));
    daemon_->commits->run(std::move(group));
  }

  model::Run stored() { return store::find_run(*watcher_, *run_).value().run; }
  bool is_over() { return is_final(stored().status); }

  ledger::CallAttempt make_attempt(const AgentCall& call) const {
    ledger::CallAttempt attempt;
    attempt.claim = {.attempt = attempt_, .epoch = 1};
    attempt.subject.agent = "agent";
    attempt.subject.tool = call.tool;
    attempt.subject.arguments = base::Value::object();
    attempt.digest = "sha256:" + call.tool;
    attempt.record.native_id = call.name;
    attempt.record.native_tool = call.tool;
    attempt.record.arguments = base::Value::object();
    attempt.is_hosted = call.is_hosted;
    attempt.question.question = "May it?";
    return attempt;
  }

  // --- the agent ---

  void make_call() {
    static constexpr std::array tools = {"mcp:t/allowed", "mcp:t/denied", "mcp:t/a", "mcp:t/b", "mcp:t/c"};
    AgentCall& call = calls_.emplace_back();
    call.name = fmt::format("n{}", ++names_);
    call.tool = tools[draw(tools.size())];
    call.is_hosted = draw(2) == 0;
    ++report_.calls;
    ask(call);
  }

  void ask(AgentCall& call) {
    trace(fmt::format("{} asks {} {}", attempt_, call.name, call.tool));
    std::optional<CallStored> answered;
    submit([&](Transaction& transaction) {
      answered = store_call(transaction, *run_, policies_, make_attempt(call));
      if (answered) answered = take_answer(transaction, answered->row.call.call_id, attempt_);
    });
    if (answered) learn(call, *answered);
  }

  void learn(AgentCall& call, const CallStored& stored) {
    call.id = stored.row.call.call_id;
    if (stored.approval && stored.approval->attempt < attempt_) ++report_.continued;
    call.told = stored.row.call.answer;
    if (call.told) trace(fmt::format("{} is told {}", call.name, base::spell(*call.told)));
  }

  // What was reported is over, whoever asks again.
  void ask_again(const AgentCall& call) {
    std::optional<CallStored> answered;
    submit([&](Transaction& transaction) {
      answered = store_call(transaction, *run_, policies_, make_attempt(call));
      if (answered) answered = take_answer(transaction, answered->row.call.call_id, attempt_);
    });
    const bool is_allowed = answered && answered->row.call.answer != CallDecision::deny;
    if (is_allowed) report_.broken.push_back(call.name + " was allowed after its result");
  }

  // Runs at most once what it was allowed to; the tool host, what it has begun.
  void run_call(AgentCall& call) {
    if (call.is_reported) return ask_again(call);
    if (call.told != CallDecision::allow || call.has_run) return;
    bool may_run = !call.is_hosted;
    if (call.is_hosted) {
      submit([&](Transaction& transaction) {
        may_run = begin_hosted(transaction, *call.id, {.attempt = attempt_, .epoch = 1});
      });
    }
    if (!may_run) return;
    call.has_run = true;
    ++effects_[*call.id];
    ++report_.effects;
    submit([&](Transaction& transaction) {
      if (call.is_hosted) {
        end_hosted(transaction, *call.id, draw(4) == 0, "{}", 1);
      } else {
        report_call(transaction, *run_, *call.id, {.failed = draw(4) == 0});
      }
    });
    call.is_reported = !call.is_hosted;
  }

  // The agent ends; the daemon stores it, if need be the next one.
  void end_attempt(bool is_released) {
    trace(fmt::format("{} ends{}", attempt_, is_released ? ", released" : ""));
    is_alive_ = false;
    left_as_released_ = is_released;
    store_end();
  }

  void store_end() {
    submit([&](Transaction& transaction) {
      const model::Run run = lock_run(transaction, *run_).run;
      if (is_final(run.status) || !is_current(transaction, run, {.attempt = attempt_, .epoch = 1})) return;
      const auto left = leave_calls(transaction, run, attempt_, left_as_released_);
      const bool waits = left.waiting + left.answered > 0;
      move_run(transaction, *run_,
               {.to = waits ? RunStatus::waiting_approval : RunStatus::completed, .ends_attempt = true});
    });
  }

  // --- the daemon and people ---

  // Several may find it; one attempt begins.
  void resume() {
    const auto found = ledger::find_released(*daemon_->session, "here", 10);
    if (found.empty()) return;
    std::optional<int> begun;
    const int before = stored().attempt;
    for (int daemon = 0; daemon < 2; ++daemon) {
      submit([&](Transaction& transaction) {
        const auto result =
            begin_attempt(transaction, *run_, {.epoch = 1, .keeper = {.host = "here"}, .resumes_released = true});
        if (result.attempt && begun) report_.broken.push_back("it resumed twice");
        if (result.attempt) begun = result.attempt;
      });
    }
    if (begun != before + 1) report_.broken.push_back("a released run did not resume");
    ++report_.resumptions;
  }

  // The keeper starts the agent of an attempt that is stored.
  void start_agent() {
    const model::Run run = stored();
    if (run.attempt == attempt_) return;
    attempt_ = run.attempt;
    is_alive_ = true;
    trace(fmt::format("attempt {}", attempt_));
    std::vector<AgentCall> again;
    for (const AgentCall& call : calls_) {
      if (call.told || draw(4) == 0) continue;
      again.push_back({.name = draw(2) == 0 ? call.name : fmt::format("n{}", ++names_),
                       .tool = call.tool,
                       .is_hosted = call.is_hosted});
    }
    calls_ = std::move(again);
  }

  std::vector<base::ApprovalId> pending() {
    std::vector<base::ApprovalId> found;
    watcher_->query_text("SELECT number FROM approvals WHERE status = 'pending' ORDER BY number",
                         [&](const Row& row) { found.emplace_back(row.integer(0)); });
    return found;
  }

  void answer() {
    const auto open = pending();
    if (open.empty()) return;
    const base::ApprovalId id = open[draw(open.size())];
    const bool says_yes = draw(3) != 0;
    trace(fmt::format("{} {}", id.text(), says_yes ? "yes" : "no"));
    switch (draw(4)) {
      case 0:
        ++report_.outside_decisions;
        watcher_->run_script(fmt::format("UPDATE approvals SET status = '{}', decided_by = 'ana' WHERE number = {}",
                                         says_yes ? "approved" : "rejected", id.number()));
        return;
      case 1:
        ++report_.expiries;
        watcher_->run_script(
            fmt::format("UPDATE approvals SET expires_at = '2020-01-01T00:00:00.000Z' WHERE number = {}", id.number()));
        submit([&](Transaction& transaction) {
          ledger::StepResult step;
          expire_approval(transaction, daemon_->executions, daemon_->worker, id, step);
        });
        return;
      default:
        submit([&](Transaction& transaction) {
          using Word = engine::Answer::Word;
          decide_approval(transaction, daemon_->executions, daemon_->worker, id,
                          {says_yes ? Word::approve : Word::reject, {}, {}, "ana"});
        });
    }
  }

  void look() {
    for (const base::ApprovalId id : ledger::find_outside(*daemon_->session, 10)) {
      submit([&](Transaction& transaction) { settle_outside(transaction, daemon_->executions, daemon_->worker, id); });
    }
    const auto overdue = ledger::find_overdue(*daemon_->session, clock_.wall_now(), 10);
    for (const base::ApprovalId id : overdue) {
      submit([&](Transaction& transaction) {
        ledger::StepResult step;
        expire_approval(transaction, daemon_->executions, daemon_->worker, id, step);
      });
    }
    resume();
  }

  void take_step() {
    clock_.advance(base::Milliseconds(1));
    const std::uint64_t what = draw(12);
    if (what >= 10) return answer();
    if (what >= 8) return look();
    if (!is_alive_) {
      store_end();
      return start_agent();
    }
    if (what == 7 && draw(4) == 0) {
      return end_attempt(static_cast<std::size_t>(attempt_) < max_attempts && draw(3) != 0);
    }
    if (calls_.empty() || what < 2) return make_call();
    AgentCall& call = calls_[draw(calls_.size())];
    if (!call.told) return ask(call);
    run_call(call);
  }

  // --- what must be true ---

  void expect_none(const std::string& what, const std::string& sql) {
    const std::string found = testing::read_column(*watcher_, sql);
    if (!found.empty()) report_.broken.push_back(what + ": " + found);
  }

  void check() {
    expect_none(
        "begun without a yes",
        "SELECT number FROM tool_calls WHERE begun_at IS NOT NULL AND (answer <> 'allow' OR taken_attempt IS NULL)");
    expect_none("allowed without a person's yes",
                "SELECT c.number FROM tool_calls c JOIN approvals a ON a.number = c.approval "
                "WHERE c.answer = 'allow' AND a.status <> 'approved'");
    expect_none("used, but not told, or told, but not used",
                "SELECT c.number FROM tool_calls c JOIN approvals a ON a.number = c.approval WHERE c.answer = 'allow' "
                "AND (a.use = 'used') <> (c.taken_attempt IS NOT NULL)");
    expect_none("an open call of a run that has ended",
                "SELECT c.number FROM tool_calls c JOIN tool_runs r ON r.number = c.run WHERE r.status = 'completed' "
                "AND (c.outcome IS NULL OR c.outcome = 'deferred')");
    expect_none("a run does not wait with its calls",
                "SELECT r.number FROM tool_runs r JOIN run_attempts a ON a.run = r.number AND a.attempt = r.attempt "
                "WHERE a.state <> 'ended' AND (r.status = 'waiting_approval') <> (EXISTS (SELECT 1 FROM tool_calls c "
                "WHERE c.run = r.number AND c.attempt = r.attempt AND c.answer IS NULL))");
    expect_none("two live attempts",
                "SELECT run FROM run_attempts WHERE state <> 'ended' GROUP BY run HAVING count(*) > 1");
    for (const auto& [id, times] : effects_) {
      if (times > 1) report_.broken.push_back(id.text() + " ran twice");
      const auto row = store::find_call(*watcher_, id);
      if (!row || row->call.answer != CallDecision::allow) report_.broken.push_back(id.text() + " ran without a yes");
    }
    const ledger::AuditVerdict verdict = ledger::verify_audit(*watcher_);
    if (!verdict.is_whole()) report_.broken.push_back("the audit chain is broken: " + verdict.reason);
  }

  // Everything comes to an end once people have answered and nobody crashes.
  void finish() {
    is_ending_ = true;
    for (int round = 0; round < 20 && report_.broken.empty() && !is_over(); ++round) {
      for (const base::ApprovalId id : pending()) {
        submit([&](Transaction& transaction) {
          decide_approval(transaction, daemon_->executions, daemon_->worker, id,
                          {engine::Answer::Word::reject, {}, {}, "ana"});
        });
      }
      look();
      if (!is_alive_) store_end();
      start_agent();
      if (is_alive_) end_attempt(false);
      check();
    }
    if (report_.broken.empty() && !is_over()) report_.broken.push_back("it did not end");
    watcher_->query_text("SELECT outcome, count(*) FROM tool_calls GROUP BY outcome", [&](const Row& row) {
      report_.outcomes[row.is_null(0) ? "open" : std::string(row.text(0))] = static_cast<std::size_t>(row.integer(1));
    });
  }

  base::SeededRandom random_;
  testing::HandClock clock_;
  store::Place place_;
  // Reads everything and never crashes; keeps the store in memory alive.
  std::unique_ptr<store::Session> watcher_;
  std::unique_ptr<Daemon> daemon_;
  model::Policies policies_;
  std::optional<base::RunId> run_;
  // The agent: it survives the daemon.
  int attempt_ = 1;
  bool is_alive_ = true;
  bool left_as_released_ = false;
  std::vector<AgentCall> calls_;
  int names_ = 0;
  bool is_ending_ = false;
  // An independent ledger: how often each call ran.
  std::map<base::CallId, int> effects_;
  CallsReport report_;
};

}  // namespace

CallsReport simulate_calls(std::uint64_t seed) { return CallsSimulation(seed).run(); }

}  // namespace reeve::simulation
