#include "engine/decision.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::engine {
namespace {

using model::ApprovalStatus;
using Word = Answer::Word;

const base::WallTime now(base::Milliseconds(1'000'000));

model::Approval make_question(std::vector<model::ApprovalOption> options) {
  model::Approval approval;
  approval.question = "Go on?";
  approval.options = std::move(options);
  return approval;
}

std::string outcome(const model::Approval& approval, Word word, std::optional<std::string> choice = {},
                    std::optional<std::string> text = {}) {
  const Answer answer{
      .word = word, .choice = std::move(choice), .comment = "a comment", .decided_by = "ana", .text = std::move(text)};
  const auto result = decide(approval, answer, now);
  if (const auto* refusal = std::get_if<Refusal>(&result)) {
    switch (*refusal) {
      case Refusal::already_resolved:
        return "already_resolved";
      case Refusal::expired:
        return "expired";
      case Refusal::unknown_choice:
        return "unknown_choice";
      case Refusal::choice_needed:
        return "choice_needed";
      case Refusal::contradiction:
        return "contradiction";
      case Refusal::text_needed:
        return "text_needed";
      case Refusal::takes_no_text:
        return "takes_no_text";
    }
  }
  const auto& made = std::get<Decided>(result);
  return std::string(base::spell(made.status)) + " " + made.chosen_value.value_or("-");
}

// APR-3
TEST(Decision, approve_takes_the_only_approving_option) {
  const auto question = make_question(model::default_options());
  EXPECT_EQ(outcome(question, Word::approve), "approved approve");
  EXPECT_EQ(outcome(question, Word::reject), "rejected reject");
  EXPECT_EQ(outcome(question, Word::choose, "approve"), "approved approve");
  EXPECT_EQ(outcome(question, Word::choose), "choice_needed");
  EXPECT_EQ(outcome(question, Word::choose, "maybe"), "unknown_choice");
}

// RUN-10: text is typed only where it was asked for, and nothing else is typed in its place.
TEST(Decision, text_is_needed_where_it_is_asked_for_and_refused_elsewhere) {
  auto asks_for_text = make_question({{"answer", "Answer with text…", true}, {"reject", "Cancel", false}});
  asks_for_text.delivery = model::Delivery::terminal;
  asks_for_text.arguments = base::Value::object();
  asks_for_text.arguments->set("prompt", base::Value::string("text"));
  EXPECT_EQ(outcome(asks_for_text, Word::approve), "text_needed");
  EXPECT_EQ(outcome(asks_for_text, Word::approve, "answer"), "text_needed");
  EXPECT_EQ(outcome(asks_for_text, Word::choose, "answer"), "text_needed");
  EXPECT_EQ(outcome(asks_for_text, Word::approve, {}, "bob"), "approved answer");
  EXPECT_EQ(outcome(asks_for_text, Word::choose, {}, ""), "approved answer");
  EXPECT_EQ(outcome(asks_for_text, Word::choose, "answer", "bob"), "approved answer");
  EXPECT_EQ(outcome(asks_for_text, Word::choose, "reject", "bob"), "takes_no_text");
  EXPECT_EQ(outcome(asks_for_text, Word::reject, {}, "bob"), "takes_no_text");
  EXPECT_EQ(outcome(asks_for_text, Word::reject), "rejected reject");
  // The same words in another question are an ordinary option.
  auto names_it_so = asks_for_text;
  names_it_so.delivery = model::Delivery::rerun;
  EXPECT_EQ(outcome(names_it_so, Word::approve), "approved answer");
  EXPECT_EQ(outcome(names_it_so, Word::approve, {}, "bob"), "takes_no_text");
}

// APR-3: an approval is never guessed.
TEST(Decision, approve_needs_a_choice_among_several_options) {
  const auto question = make_question({{.value = "all"}, {.value = "some"}, {.value = "no"}});
  EXPECT_EQ(outcome(question, Word::approve), "choice_needed");
  EXPECT_EQ(outcome(question, Word::approve, "some"), "approved some");
  EXPECT_EQ(outcome(question, Word::approve, "no"), "contradiction");
  EXPECT_EQ(outcome(question, Word::reject, "all"), "contradiction");
  EXPECT_EQ(outcome(question, Word::reject), "rejected no");
}

TEST(Decision, reject_works_without_a_rejecting_option) {
  const auto question = make_question({{.value = "red"}, {.value = "blue"}});
  EXPECT_EQ(outcome(question, Word::reject), "rejected -");
  EXPECT_EQ(outcome(make_question({}), Word::reject), "rejected -");
  EXPECT_EQ(outcome(make_question({}), Word::approve), "choice_needed");
}

// APR-2: a decision is made once.
TEST(Decision, decided_approval_cannot_be_decided_again) {
  auto question = make_question(model::default_options());
  for (const ApprovalStatus status : {ApprovalStatus::approved, ApprovalStatus::rejected, ApprovalStatus::expired}) {
    question.status = status;
    EXPECT_EQ(outcome(question, Word::approve), "already_resolved");
    EXPECT_EQ(outcome(question, Word::reject), "already_resolved");
  }
}

// APR-4: an approval after the expiry is late, even if the expiry is not stored yet.
TEST(Decision, decision_after_expiry_is_refused) {
  auto question = make_question(model::default_options());
  question.expires_at = now + base::Milliseconds(1);
  EXPECT_EQ(outcome(question, Word::approve), "approved approve");
  EXPECT_FALSE(is_overdue(question, now));
  question.expires_at = now;
  EXPECT_TRUE(is_overdue(question, now));
  EXPECT_EQ(outcome(question, Word::approve), "expired");
  question.status = ApprovalStatus::approved;
  EXPECT_FALSE(is_overdue(question, now)) << "a decided question does not expire";
  question = make_question(model::default_options());
  EXPECT_FALSE(is_overdue(question, base::WallTime::max())) << "never without an expiry";
}

// Any answer results in a legal transition and one of the options, and approves only with an approving one.
RC_GTEST_PROP(Decision, approves_only_by_an_approving_option, ()) {
  const auto value = rc::gen::elementOf(std::vector<std::string>{"yes", "no", "reject", "go", "n", "later"});
  std::vector<model::ApprovalOption> options;
  for (const std::string& name : *rc::gen::container<std::vector<std::string>>(value)) {
    options.push_back(
        {.value = name, .label = name, .approves = *rc::gen::element<std::optional<bool>>(std::nullopt, true, false)});
  }
  const auto question = make_question(model::unique_options(options));
  const Answer answer{.word = *rc::gen::element(Word::approve, Word::reject, Word::choose),
                      .choice = *rc::gen::arbitrary<bool>() ? std::optional<std::string>(*value) : std::nullopt,
                      .decided_by = "ana"};
  const auto result = decide(question, answer, now);
  if (const auto* made = std::get_if<Decided>(&result)) {
    RC_ASSERT(can_move(ApprovalStatus::pending, made->status));
    if (made->status == ApprovalStatus::approved) {
      const auto chosen =
          std::ranges::find(question.options, made->chosen_value.value(), &model::ApprovalOption::value);
      RC_ASSERT(chosen != question.options.end());
      RC_ASSERT(approves(*chosen));
      RC_ASSERT(answer.word != Word::reject);
    }
  }
}

// APR-7, APR-10.
TEST(Grant, works_once_for_the_approved_command_and_attempt) {
  model::Approval approval;
  approval.digest = "sha256:a";
  approval.attempt = 2;
  const Usage usage{.attempt = 2, .digest = "sha256:a"};
  for (const auto status : {ApprovalStatus::pending, ApprovalStatus::rejected, ApprovalStatus::expired}) {
    approval.status = status;
    EXPECT_EQ(std::get<GrantRefusal>(use(approval, usage)), GrantRefusal::not_granted);
  }
  approval.status = ApprovalStatus::approved;
  EXPECT_TRUE(std::holds_alternative<Used>(use(approval, usage)));
  const Usage of_another{.run = base::RunId(9), .attempt = 2, .digest = "sha256:a"};
  EXPECT_EQ(std::get<GrantRefusal>(use(approval, of_another)), GrantRefusal::not_granted)
      << "and the grant stays valid";
  EXPECT_TRUE(std::holds_alternative<Voided>(use(approval, {.attempt = 2, .digest = "sha256:b"})));
  EXPECT_TRUE(std::holds_alternative<Voided>(use(approval, {.attempt = 2})));
  EXPECT_TRUE(std::holds_alternative<Voided>(use(approval, {.attempt = 3, .digest = "sha256:a"})));
  for (const auto spent : {model::ApprovalUse::used, model::ApprovalUse::void_}) {
    approval.use = spent;
    EXPECT_EQ(std::get<GrantRefusal>(use(approval, usage)), GrantRefusal::already_used);
  }
}

}  // namespace
}  // namespace reeve::engine
