#include "engine/run_exit.h"

#include <utility>

#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using enum model::RunStatus;

ExitVerdict code(int exit_code, bool marker = false, bool question = false) {
  return classify_exit({.exit_code = exit_code, .has_failure_marker = marker, .has_pending_question = question});
}

// RUN-6, line by line.
TEST(RunExit, zero_without_a_failure_marker_completes) {
  EXPECT_EQ(code(0).status, completed);
  EXPECT_EQ(code(0).reason, "");
  EXPECT_EQ(code(0, true).status, failed);
  EXPECT_EQ(code(0, true).reason, "failure marker");
}

TEST(RunExit, exit_90_waits_for_an_approval) {
  EXPECT_EQ(code(90).status, waiting_approval);
  EXPECT_EQ(code(90).question, QuestionFate::generic) << "without a question, the generic one is created";
  EXPECT_EQ(code(90, false, true).question, QuestionFate::stays);
  EXPECT_EQ(code(0, false, true).status, waiting_approval) << "exit 0 with a question pending counts as 90";
  EXPECT_EQ(code(0, false, true).outcome, model::Outcome::asked);
}

// GRF-6
TEST(RunExit, exit_90_of_a_gate_is_a_plain_failure) {
  const ExitVerdict verdict = classify_exit({.exit_code = 90, .may_ask = false});
  EXPECT_EQ(verdict.status, failed);
  EXPECT_EQ(verdict.reason, "exit_code != 0 (90)");
  EXPECT_EQ(verdict.question, QuestionFate::none);
}

TEST(RunExit, other_exits_fail_and_expire_the_question) {
  EXPECT_EQ(code(2).status, failed);
  EXPECT_EQ(code(2).reason, "exit_code != 0 (2)");
  EXPECT_EQ(code(2).question, QuestionFate::none);
  EXPECT_EQ(code(2, false, true).question, QuestionFate::expires);
  const ExitVerdict killed = classify_exit({.signal = 9, .has_pending_question = true});
  EXPECT_EQ(killed.status, failed);
  EXPECT_EQ(killed.reason, "signal 9");
  EXPECT_EQ(killed.question, QuestionFate::expires);
}

// The question was answered before the tool exited.
TEST(RunExit, answer_given_before_the_exit_decides) {
  using enum model::ApprovalStatus;
  const auto leave = [](model::ApprovalStatus answer, int exit_code = 90) {
    return classify_exit({.exit_code = exit_code, .answer = answer});
  };
  EXPECT_EQ(leave(approved).status, waiting_approval);
  EXPECT_EQ(leave(approved).question, QuestionFate::granted) << "no second question after a grant";
  for (const auto no : {rejected, expired}) {
    EXPECT_EQ(leave(no).status, failed);
    EXPECT_EQ(leave(no).question, QuestionFate::denied);
  }
  EXPECT_EQ(leave(rejected).outcome, model::Outcome::denied);
  EXPECT_EQ(leave(expired).outcome, model::Outcome::asked) << "it was not rejected";
  EXPECT_EQ(leave(rejected, 0).status, failed) << "exit 0 with a question counts as 90, however soon it was answered";
  EXPECT_EQ(leave(approved, 0).question, QuestionFate::granted);
  EXPECT_EQ(leave(approved, 2).status, failed);
}

// APR-8: an agent that releases its process waits for its calls, and has asked nothing else.
TEST(RunExit, exit_90_with_open_calls_waits_for_them) {
  const auto leave = [](int exit_code, bool question = false) {
    return ProcessEnd{.exit_code = exit_code, .has_pending_question = question, .deferred_calls = 2};
  };
  EXPECT_EQ(classify_exit(leave(90)).status, waiting_approval);
  EXPECT_EQ(classify_exit(leave(90)).question, QuestionFate::none) << "no generic question";
  EXPECT_EQ(classify_exit(leave(90, true)).question, QuestionFate::stays);
  EXPECT_EQ(classify_exit(leave(0)).status, completed);
  EXPECT_EQ(classify_exit(leave(1)).status, failed);
}

TEST(RunExit, only_exit_90_keeps_calls_for_the_next_attempt) {
  EXPECT_TRUE(releases_calls({.exit_code = 90}));
  EXPECT_TRUE(releases_calls({.exit_code = 90, .has_pending_question = true}));
  EXPECT_TRUE(releases_calls({.exit_code = 90, .answer = model::ApprovalStatus::approved}));
  EXPECT_FALSE(releases_calls({.exit_code = 90, .answer = model::ApprovalStatus::rejected})) << "the run has failed";
  EXPECT_FALSE(releases_calls({.exit_code = 90, .has_failure_marker = true}));
  EXPECT_FALSE(releases_calls({.exit_code = 90, .may_ask = false}));
  EXPECT_FALSE(releases_calls({.exit_code = 0, .has_pending_question = true}));
  EXPECT_FALSE(releases_calls({.signal = 9}));
}

// A tool that reports a failure is not restarted on an approval.
TEST(RunExit, failure_marker_overrides_the_question) {
  EXPECT_EQ(code(90, true, true).status, failed);
  EXPECT_EQ(code(90, true, true).question, QuestionFate::expires);
}

ProcessEnd reported(model::Outcome outcome, int exit_code = 1) {
  return {.exit_code = exit_code, .reported = model::ReportedOutcome{.outcome = outcome, .reason = "it said so"}};
}

// RUN-18, AGT-5
TEST(RunExit, call_past_the_gate_fails_the_run_whatever_its_exit_code) {
  for (const int exit_code : {0, 1, 90}) {
    const ExitVerdict verdict = classify_exit(reported(model::Outcome::ungated, exit_code));
    EXPECT_EQ(verdict.status, failed);
    EXPECT_EQ(verdict.reason, "it said so");
    EXPECT_EQ(verdict.outcome, model::Outcome::ungated);
    EXPECT_FALSE(releases_calls(reported(model::Outcome::ungated, exit_code)));
  }
  ProcessEnd granted = reported(model::Outcome::ungated, 90);
  granted.answer = model::ApprovalStatus::approved;
  EXPECT_EQ(classify_exit(granted).status, failed) << "it does not start again on the approval";
  EXPECT_EQ(classify_exit(reported(model::Outcome::not_logged_in, 0)).outcome, model::Outcome::not_logged_in);
}

// RUN-18
TEST(RunExit, limited_run_goes_back_to_the_queue) {
  for (const int exit_code : {0, 1, 90}) {
    const ExitVerdict verdict = classify_exit(reported(model::Outcome::limited, exit_code));
    EXPECT_EQ(verdict.status, queued) << exit_code;
    EXPECT_EQ(verdict.outcome, model::Outcome::limited);
  }
  const ExitVerdict killed = classify_exit({.signal = 9,
                                            .has_pending_question = true,
                                            .reported = model::ReportedOutcome{.outcome = model::Outcome::limited}});
  EXPECT_EQ(killed.status, queued);
  EXPECT_EQ(killed.question, QuestionFate::expires);
}

// What a person has to decide, or has decided, goes first.
TEST(RunExit, limit_does_not_replace_a_question_or_its_answer) {
  ProcessEnd asks = reported(model::Outcome::limited, 90);
  asks.has_pending_question = true;
  EXPECT_EQ(classify_exit(asks).status, waiting_approval);
  ProcessEnd waits = reported(model::Outcome::limited, 90);
  waits.deferred_calls = 1;
  EXPECT_EQ(classify_exit(waits).status, waiting_approval);
  ProcessEnd refused = reported(model::Outcome::limited, 0);
  refused.answer = model::ApprovalStatus::rejected;
  EXPECT_EQ(classify_exit(refused).status, failed);
}

// RUN-18: a needed call was refused; the exit says whether the run succeeded anyway.
TEST(RunExit, denied_calls_change_only_the_outcome) {
  EXPECT_EQ(classify_exit(reported(model::Outcome::denied, 0)).status, completed);
  EXPECT_EQ(classify_exit(reported(model::Outcome::denied, 0)).outcome, model::Outcome::denied);
  EXPECT_EQ(classify_exit(reported(model::Outcome::denied, 3)).reason, "exit_code != 0 (3)");
  EXPECT_EQ(classify_exit(reported(model::Outcome::denied, 3)).outcome, model::Outcome::denied);
  EXPECT_EQ(classify_exit(reported(model::Outcome::denied, 90)).outcome, model::Outcome::asked);
}

// Of all ends of a process: what was reported counts, nothing is queued for another reason, and each status may follow.
TEST(RunExit, reports_count_at_every_end) {
  using enum model::Outcome;
  using Answer = std::optional<model::ApprovalStatus>;
  for (const auto outcome : {denied, limited, ungated, not_logged_in}) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const Answer answer : {Answer(), Answer(model::ApprovalStatus::approved),
                                  Answer(model::ApprovalStatus::rejected), Answer(model::ApprovalStatus::expired)}) {
        for (const int exit_code : {0, 1, 90, -9}) {
          ProcessEnd end = reported(outcome, exit_code);
          if (exit_code < 0) end.signal = std::exchange(end.exit_code, std::nullopt).value() * -1;
          end.has_failure_marker = (bits & 1) != 0;
          end.has_pending_question = (bits & 2) != 0;
          end.deferred_calls = (bits & 4) != 0 ? 2 : 0;
          end.may_ask = (bits & 8) != 0;
          end.answer = answer;
          const ExitVerdict verdict = classify_exit(end);
          EXPECT_TRUE(can_move(running, verdict.status));
          EXPECT_EQ(verdict.status == queued, verdict.outcome == limited);
          if (outcome == ungated || outcome == not_logged_in) {
            EXPECT_EQ(verdict.status, failed);
            EXPECT_EQ(verdict.outcome, outcome);
          }
          if (outcome == limited) EXPECT_NE(verdict.status, completed);
        }
      }
    }
  }
}

TEST(RunExit, ungated_outweighs_every_other_report) {
  using enum model::Outcome;
  for (const auto other : {denied, limited, not_logged_in}) {
    EXPECT_TRUE(outweighs(ungated, other));
    EXPECT_FALSE(outweighs(other, ungated));
    EXPECT_FALSE(outweighs(other, other)) << "the newer one counts";
  }
  EXPECT_TRUE(outweighs(limited, denied));
  EXPECT_TRUE(outweighs(not_logged_in, limited));
}

TEST(RunExit, every_verdict_is_a_legal_transition) {
  for (int exit_code = 0; exit_code < 256; ++exit_code) {
    for (const bool marker : {false, true}) {
      for (const bool question : {false, true}) {
        EXPECT_TRUE(can_move(running, code(exit_code, marker, question).status));
      }
    }
  }
}

TEST(RunExit, the_generic_question_preselects_reject) {
  const model::Approval approval = make_generic_question("aider");
  EXPECT_EQ(approval.question, "aider asks to continue");
  EXPECT_EQ(approval.default_value, "reject");
  EXPECT_EQ(approval.options.size(), 2);
}

}  // namespace
}  // namespace reeve::engine
