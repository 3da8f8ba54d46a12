#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ledger/approvals.h"
#include "ledger/expiry.h"
#include "ledger/run_questions.h"
#include "ledger/standing_grants.h"
#include "ledger/tool_calls.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

namespace reeve::testing {

// A ledger with runs that make tool calls. "mcp:t/allowed" is allowed, "mcp:t/denied" is denied, a person decides
// everything else.
class CallsFixture : public Conformance {
 protected:
  using Transaction = ledger::Transaction;
  using CallStored = ledger::CallStored;
  using Word = engine::Answer::Word;

  CallsFixture() : ledger_(store_) {
    policies_.tools["mcp:t/allowed"] = {{.policy = model::Policy::auto_approve, .when = {}}};
    policies_.tools["mcp:t/denied"] = {{.policy = model::Policy::deny, .when = {}}};
  }

  template <class Act>
  auto call(Act act) {
    return ledger_->call([&](Transaction& transaction) { return act(transaction); });
  }
  base::RunId begin_run(const model::Run& run = {.tool_name = "coder"}) {
    return call([&](Transaction& transaction) {
      const base::RunId id = create_run(transaction, run);
      begin_attempt(transaction, id, {.epoch = 4, .keeper = {.host = "here"}, .deadline_ms = 1'000'000});
      return id;
    });
  }
  static ledger::CallAttempt make_call(const std::string& native_id, const std::string& tool = "mcp:t/asked",
                                       int attempt = 1) {
    ledger::CallAttempt made;
    made.claim = {.attempt = attempt, .epoch = 4};
    made.subject.agent = "coder";
    made.subject.tool = tool;
    made.subject.arguments = base::Value::object();
    made.subject.cwd = "/work";
    made.digest = "sha256:" + tool;
    made.record.native_id = native_id;
    made.record.native_tool = "Tool";
    made.record.arguments = base::Value::object();
    made.record.cwd = "/work";
    made.may_defer = true;
    made.question.question = "May it?";
    made.time_left_ms = 1'500;
    return made;
  }
  std::optional<CallStored> store(base::RunId run, const ledger::CallAttempt& attempt) {
    return call([&](Transaction& transaction) { return store_call(transaction, run, policies_, attempt); });
  }
  // A call that waits for a person.
  CallStored ask(base::RunId run, const std::string& native_id = "c1", const std::string& tool = "mcp:t/asked",
                 int attempt = 1) {
    return store(run, make_call(native_id, tool, attempt)).value();
  }
  CallStored take(base::CallId id, int attempt = 1) {
    return call([&](Transaction& transaction) { return take_answer(transaction, id, attempt); }).value();
  }
  std::optional<ledger::RunConsequence> decide(base::ApprovalId id, Word word) {
    const auto result = ledger_.decide(id, {word, {}, "why", "ana"});
    EXPECT_FALSE(result.refusal);
    return result.step.runs.empty() ? std::nullopt : std::optional(result.step.runs.front());
  }
  std::optional<ledger::RunConsequence> expire(base::ApprovalId id) {
    session_->run_script(
        fmt::format("UPDATE approvals SET expires_at = '2020-01-01T00:00:00.000Z' WHERE number = {}", id.number()));
    ledger::StepResult step;
    call([&](Transaction& transaction) {
      step = {};
      return expire_approval(transaction, ledger_->executions(), ledger_.worker(), id, step);
    });
    return step.runs.empty() ? std::nullopt : std::optional(step.runs.front());
  }
  // The agent ends, with 90 if it is released.
  ledger::CallsLeft leave(base::RunId run, bool is_released, int attempt = 1) {
    return call([&](Transaction& transaction) {
      const auto left =
          leave_calls(transaction, store::find_run(transaction.session(), run).value().run, attempt, is_released);
      const bool waits = left.waiting + left.answered > 0;
      move_run(transaction, run,
               {.to = waits ? model::RunStatus::waiting_approval : model::RunStatus::completed,
                .exit_code = is_released ? 90 : 0,
                .ends_attempt = true});
      return left;
    });
  }
  ledger::AttemptResult resume(base::RunId run) {
    return call([&](Transaction& transaction) {
      return begin_attempt(transaction, run, {.epoch = 4, .keeper = {.host = "here"}, .resumes_released = true});
    });
  }
  ledger::Asked ask_plainly(base::RunId run) {
    model::Approval approval;
    approval.question = "Go on?";
    approval.options = model::default_options();
    approval.digest = "sha256:a";
    return call([&](Transaction& transaction) {
      return ask_for_run(transaction, run,
                         {.claim = {.attempt = 1, .epoch = 4}, .approval = approval, .time_left_ms = 1'500});
    });
  }

  model::Run run_of(base::RunId id) { return store::find_run(*session_, id).value().run; }
  model::RunStatus status_of(base::RunId id) { return run_of(id).status; }
  store::CallRow row_of(base::CallId id) { return store::find_call(*session_, id).value(); }
  model::ToolCall call_of(base::CallId id) { return row_of(id).call; }
  model::Approval approval_of(base::ApprovalId id) { return store::find_approval(*session_, id).value().approval; }
  std::string column(const std::string& sql) { return read_column(*session_, sql); }

  TestLedger ledger_;
  std::unique_ptr<store::Session> session_ = store_.open_bare();
  model::Policies policies_;
};

}  // namespace reeve::testing

#define REEVE_CALLS_SUITE(Suite)                                                                                     \
  class Suite : public ::reeve::testing::CallsFixture {};                                                            \
  INSTANTIATE_TEST_SUITE_P(Store, Suite,                                                                             \
                           ::testing::Values(::reeve::store::Place::Kind::file, ::reeve::store::Place::Kind::memory, \
                                             ::reeve::store::Place::Kind::postgresql),                               \
                           [](const auto& instance) { return ::reeve::testing::kind_name(instance.param); })
