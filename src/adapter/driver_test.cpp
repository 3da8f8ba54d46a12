#include "adapter/driver.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/encode.h"
#include "tests/support/fake_agent.h"

namespace reeve::adapter {
namespace {

using agents::CallVerdict;
using agents::GateReach;
using agents::ReleaseWay;
using agents::TurnEnd;
using base::Value;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using wire::CallReply;
using wire::CallReplyDecision;
using wire::HookDecision;

constexpr std::chrono::minutes release_after(5);

Value command(const std::string& text) { return Value::object({{"command", Value::string(text)}}); }

CallReply reply(CallReplyDecision decision) {
  CallReply made{.call_id = base::CallId(7), .decision = decision, .rule = "default"};
  if (decision == CallReplyDecision::wait) made.approval_id = base::ApprovalId(4);
  if (decision == CallReplyDecision::deny) made.reason = "not today";
  return made;
}

// A driver with an agent that says what a test wants, and everything that came out of it.
class DriverTest : public ::testing::Test {
 protected:
  void start(DriverTerms terms = {.release_after = release_after}) {
    driver_.emplace(std::move(terms), agent_);
    keep(driver_->begin(now_));
  }
  void open_session(const char* session = "s-1") {
    say(agents::SessionOpened{.session = session, .version = {}, .model = {}});
    keep(driver_->on_session_stored(now_));
  }
  void say(agents::AgentEvent event) {
    agent_.next.events.push_back(std::move(event));
    keep(driver_->on_line(now_, "x"));
  }
  void announce(const std::string& call, const std::string& text = "git push",
                const std::optional<std::string>& parent = {}) {
    say(agents::CallAnnounced{.call = call, .tool = "Bash", .arguments = command(text), .parent = parent});
  }
  void end_call(const std::string& call, bool was_refused = false) {
    say(agents::CallEnded{.call = call, .was_refused = was_refused, .digest = "sha256:1", .bytes = 12});
  }
  void hook(std::uint64_t connection, const std::string& call, const std::string& text = "git push") {
    wire::CallRequest request{.call = call, .tool = "Bash", .arguments = command(text)};
    request.cwd = "/work";
    // What a process may not choose.
    request.execute = true;
    keep(driver_->on_hook(now_, connection, std::move(request)));
  }
  // The number of the last call that Reeve was asked about.
  std::uint64_t asked() const { return asked_; }
  void wait(std::uint64_t number) { keep(driver_->on_call_waits(now_, number, reply(CallReplyDecision::wait))); }
  void decide(std::uint64_t number, CallReplyDecision decision) {
    keep(driver_->on_call_reply(now_, number, reply(decision)));
  }
  void fail_call(std::uint64_t number, const char* why) {
    keep(driver_->on_call_reply(now_, number, std::unexpected(std::string(why))));
  }
  // Up to then, with every timer on the way.
  void advance(base::Milliseconds time) {
    const base::BootTime end = now_ + time;
    while (true) {
      const auto next = driver_->next_time();
      if (!next || *next > end) break;
      now_ = std::max(now_, *next);
      keep(driver_->on_time(now_));
    }
    now_ = end;
  }
  void end_agent(int code = 0) { keep(driver_->on_agent_gone(now_, {.code = code, .signal = {}})); }

  template <class E>
  std::vector<E> all() const {
    std::vector<E> found;
    for (const Effect& effect : effects_) {
      if (const auto* one = std::get_if<E>(&effect)) found.push_back(*one);
    }
    return found;
  }
  std::vector<std::string> printed() const {
    std::vector<std::string> lines;
    for (const PrintLine& one : all<PrintLine>()) lines.push_back(one.line);
    return lines;
  }
  std::vector<std::string> errors() const {
    std::vector<std::string> lines;
    for (const PrintError& one : all<PrintError>()) lines.push_back(one.line);
    return lines;
  }
  std::vector<std::string> events() const {
    std::vector<std::string> posted;
    for (const PostEvent& one : all<PostEvent>()) posted.push_back(json::encode(one.event));
    return posted;
  }
  std::vector<std::pair<std::uint64_t, HookDecision>> answers() const {
    std::vector<std::pair<std::uint64_t, HookDecision>> given;
    for (const AnswerHook& one : all<AnswerHook>()) given.emplace_back(one.connection, one.reply.decision);
    return given;
  }
  std::vector<std::uint64_t> left() const {
    std::vector<std::uint64_t> numbers;
    for (const LeaveCall& one : all<LeaveCall>()) numbers.push_back(one.number);
    return numbers;
  }
  std::optional<int> exit_code() const {
    const auto finished = all<Finish>();
    return finished.empty() ? std::nullopt : std::optional(finished.back().code);
  }
  void forget() { effects_.clear(); }
  void keep(Effects effects) {
    for (Effect& effect : effects) {
      if (const auto* ask = std::get_if<AskReeve>(&effect)) asked_ = ask->number;
      effects_.push_back(std::move(effect));
    }
  }

  testing::FakeAgent agent_;
  std::optional<Driver> driver_;
  base::BootTime now_ = base::BootTime(std::chrono::hours(1));

 private:
  Effects effects_;
  std::uint64_t asked_ = 0;
};

// TOOL-9, AGT-4
TEST_F(DriverTest, hooks_get_what_reeve_decides) {
  start();
  open_session();
  hook(1, "c1");
  const auto asks = all<AskReeve>();
  ASSERT_THAT(asks, SizeIs(1));
  EXPECT_EQ(asks[0].request.session, "s-1");
  EXPECT_EQ(asks[0].request.dialect, "claude");
  EXPECT_EQ(asks[0].request.channel, model::CallChannel::hook);
  EXPECT_TRUE(asks[0].request.may_defer);
  EXPECT_FALSE(asks[0].request.execute);
  EXPECT_THAT(answers(), IsEmpty());
  decide(asked(), CallReplyDecision::allow);
  hook(2, "c2", "ls");
  decide(asked(), CallReplyDecision::deny);
  hook(3, "c3", "id");
  fail_call(asked(), "the daemon answered 500");
  EXPECT_THAT(answers(), ElementsAre(std::pair(1, HookDecision::allow), std::pair(2, HookDecision::deny),
                                     std::pair(3, HookDecision::deny)));
  EXPECT_THAT(all<AnswerHook>()[1].reply.reason, "not today");
  EXPECT_THAT(all<AnswerHook>()[2].reply.reason, HasSubstr("500"));
  EXPECT_THAT(printed(), ElementsAre("> Bash git push", "  allowed", "> Bash ls", "  denied: not today", "> Bash id",
                                     HasSubstr("denied: Reeve did not allow this call: ")));
}

TEST_F(DriverTest, protocol_and_hook_ask_about_one_call_once) {
  start();
  hook(1, "c1");
  say(agents::CallAsked{.ticket = 9, .call = "c1", .tool = "Bash", .arguments = command("git push")});
  EXPECT_THAT(all<AskReeve>(), SizeIs(1));
  decide(asked(), CallReplyDecision::allow);
  EXPECT_THAT(agent_.answers, ElementsAre(std::pair(9, CallVerdict::allow)));
  say(agents::CallAsked{.ticket = 10, .call = "c1", .tool = "Bash", .arguments = command("git push")});
  EXPECT_THAT(all<AskReeve>(), SizeIs(1)) << "the decision is known";
  EXPECT_THAT(agent_.answers, Contains(std::pair(10, CallVerdict::allow)));
  say(agents::CallAsked{.ticket = 11, .call = "c1", .tool = "Bash", .arguments = command("rm -r .")});
  EXPECT_THAT(all<AskReeve>(), SizeIs(2)) << "other arguments are another call";
}

TEST_F(DriverTest, call_that_has_ended_is_not_allowed_again) {
  start();
  hook(1, "c1");
  decide(asked(), CallReplyDecision::allow);
  end_call("c1");
  hook(2, "c1");
  EXPECT_THAT(answers(), Contains(std::pair(2, HookDecision::deny)));
}

TEST_F(DriverTest, call_whose_hook_has_gone_is_withdrawn) {
  start();
  hook(1, "c1");
  wait(asked());
  keep(driver_->on_hook_gone(now_, 1));
  EXPECT_THAT(all<DropCall>(), SizeIs(1));
  EXPECT_THAT(all<WithdrawCall>(), SizeIs(1));
  decide(asked(), CallReplyDecision::allow);
  EXPECT_THAT(answers(), IsEmpty());
}

TEST_F(DriverTest, more_calls_than_it_can_hold_are_denied) {
  start();
  for (std::uint64_t i = 1; i <= Driver::max_open_calls + 1; ++i) hook(i, "c" + std::to_string(i));
  EXPECT_THAT(all<AskReeve>(), SizeIs(Driver::max_open_calls));
  EXPECT_THAT(answers(), ElementsAre(std::pair(Driver::max_open_calls + 1, HookDecision::deny)));
}

// AGT-4
TEST_F(DriverTest, results_are_reported_with_their_duration) {
  start();
  announce("c1");
  hook(1, "c1");
  decide(asked(), CallReplyDecision::allow);
  now_ += std::chrono::milliseconds(1'500);
  end_call("c1");
  end_call("c1");
  const auto results = all<PostResult>();
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_EQ(results[0].call, base::CallId(7));
  EXPECT_EQ(results[0].report.duration_ms, 1'500);
  EXPECT_EQ(results[0].report.bytes, 12);
  EXPECT_THAT(printed(), ElementsAre("> Bash git push", "  allowed", "  ran: 12 bytes"));
}

// --- AGT-6 ---

TEST_F(DriverTest, waiting_call_is_released_by_deferring_it) {
  start();
  open_session();
  announce("c1");
  hook(1, "c1");
  wait(asked());
  advance(release_after - std::chrono::seconds(1));
  EXPECT_THAT(left(), IsEmpty());
  advance(std::chrono::seconds(2));
  EXPECT_THAT(left(), ElementsAre(asked()));
  EXPECT_THAT(answers(), IsEmpty()) << "the answer may be on its way";
  decide(asked(), CallReplyDecision::wait);
  EXPECT_THAT(answers(), ElementsAre(std::pair(1, HookDecision::defer)));
  say(agents::TurnOver{.end = TurnEnd::deferred, .text = {}, .refused = {}});
  end_agent();
  EXPECT_THAT(all<KillAgent>(), SizeIs(1)) << "whatever it left behind";
  EXPECT_EQ(exit_code(), 90);
  EXPECT_THAT(all<WithdrawCall>(), IsEmpty());
  EXPECT_THAT(errors(), IsEmpty());
}

TEST_F(DriverTest, answer_that_comes_while_it_leaves_counts) {
  start();
  open_session();
  hook(1, "c1");
  wait(asked());
  advance(release_after + std::chrono::seconds(1));
  ASSERT_THAT(left(), SizeIs(1));
  decide(asked(), CallReplyDecision::allow);
  EXPECT_THAT(answers(), ElementsAre(std::pair(1, HookDecision::allow)));
  EXPECT_EQ(exit_code(), std::nullopt);
}

TEST_F(DriverTest, agents_are_released_in_their_own_way) {
  for (const ReleaseWay way : {ReleaseWay::interrupt, ReleaseWay::end}) {
    agent_.way = way;
    start();
    open_session();
    say(agents::CallAsked{.ticket = 9, .call = "c1", .tool = "Bash", .arguments = command("x")});
    wait(asked());
    advance(release_after + std::chrono::seconds(1));
    decide(asked(), CallReplyDecision::wait);
    EXPECT_EQ(agent_.interrupts, way == ReleaseWay::interrupt ? 1 : 0);
    EXPECT_THAT(agent_.answers, IsEmpty()) << "an answer would become a part of the session";
    advance(std::chrono::seconds(way == ReleaseWay::interrupt ? 11 : 1));
    ASSERT_THAT(all<SignalAgent>(), SizeIs(1));
    EXPECT_EQ(all<SignalAgent>()[0].number, SIGTERM);
    advance(std::chrono::seconds(6));
    EXPECT_THAT(all<KillAgent>(), SizeIs(1));
    end_agent();
    EXPECT_EQ(exit_code(), 90);
    agent_.forget();
    forget();
  }
}

TEST_F(DriverTest, agent_is_not_released_before_reeve_knows_its_session) {
  start();
  say(agents::SessionOpened{.session = "s-1", .version = {}, .model = {}});
  hook(1, "c1");
  wait(asked());
  advance(std::chrono::hours(1));
  EXPECT_THAT(left(), IsEmpty());
  keep(driver_->on_session_stored(now_));
  advance(std::chrono::seconds(2));
  EXPECT_THAT(left(), SizeIs(1));
}

TEST_F(DriverTest, several_calls_are_held_and_then_denied) {
  start();
  open_session();
  hook(1, "c1");
  const std::uint64_t first = asked();
  hook(2, "c2", "ls");
  wait(first);
  EXPECT_THAT(printed(), Not(Contains(HasSubstr("holding"))));
  wait(asked());
  EXPECT_THAT(printed(), Contains("holding: 2 calls wait for a person").Times(1));
  advance(release_after + std::chrono::seconds(1));
  EXPECT_THAT(left(), SizeIs(2));
  decide(first, CallReplyDecision::wait);
  decide(asked(), CallReplyDecision::wait);
  EXPECT_THAT(answers(), ElementsAre(std::pair(1, HookDecision::deny), std::pair(2, HookDecision::deny)));
  EXPECT_EQ(all<AnswerHook>()[0].reply.reason, "no answer yet: ask again, one call at a time");
  EXPECT_THAT(all<WithdrawCall>(), SizeIs(2));
  // The agent asked again, was allowed, and has finished: nothing was refused for good.
  hook(3, "c3", "ls");
  decide(asked(), CallReplyDecision::allow);
  say(agents::TurnOver{.end = TurnEnd::completed, .text = "done", .refused = {"c1", "c2"}});
  EXPECT_THAT(events(), ElementsAre(HasSubstr("\"result\"")));
}

TEST_F(DriverTest, part_of_a_batch_is_denied_once_the_others_have_ended) {
  start();
  open_session();
  agent_.may_be_released = false;
  announce("c0", "make");
  hook(1, "c0", "make");
  decide(asked(), CallReplyDecision::allow);
  announce("c1");
  hook(2, "c1");
  wait(asked());
  advance(std::chrono::hours(1));
  EXPECT_THAT(left(), IsEmpty()) << "the other call runs";
  end_call("c0");
  advance(std::chrono::seconds(2));
  EXPECT_THAT(left(), SizeIs(1));
}

TEST_F(DriverTest, calls_of_subagents_are_held) {
  start();
  open_session();
  announce("t1", "subtask");
  hook(1, "t1", "subtask");
  decide(asked(), CallReplyDecision::allow);
  announce("c1", "git push", "t1");
  hook(2, "c1");
  EXPECT_EQ(all<AskReeve>().back().request.parent, "t1");
  wait(asked());
  advance(std::chrono::hours(24));
  EXPECT_THAT(left(), IsEmpty());
  decide(asked(), CallReplyDecision::allow);
  EXPECT_THAT(answers(), Contains(std::pair(2, HookDecision::allow)));
}

TEST_F(DriverTest, without_a_release_calls_are_held_for_ever) {
  start({.release_after = {}});
  open_session();
  hook(1, "c1");
  EXPECT_FALSE(all<AskReeve>()[0].request.may_defer);
  wait(asked());
  advance(std::chrono::hours(100));
  EXPECT_THAT(left(), IsEmpty());
  EXPECT_THAT(answers(), IsEmpty());
}

TEST_F(DriverTest, resumed_agent_that_stays_silent_is_told_to_continue) {
  const DriverTerms terms{
      .release_after = release_after, .resumed_session = "s-1", .has_deferred_call = true, .continuation = "Continue."};
  start(terms);
  open_session();
  advance(std::chrono::seconds(9));
  EXPECT_THAT(agent_.said, IsEmpty());
  advance(std::chrono::seconds(2));
  EXPECT_THAT(agent_.said, ElementsAre("Continue."));

  agent_.forget();
  start(terms);
  hook(1, "c1");
  open_session();
  advance(std::chrono::minutes(1));
  EXPECT_THAT(agent_.said, IsEmpty()) << "it has asked again";

  agent_.forget();
  start(terms);
  advance(std::chrono::minutes(1));
  EXPECT_THAT(agent_.said, ElementsAre("Continue.")) << "it never opened its session";

  agent_.forget();
  agent_.way = ReleaseWay::interrupt;
  start(terms);
  open_session();
  advance(std::chrono::minutes(1));
  EXPECT_THAT(agent_.said, IsEmpty()) << "its start has a prompt";
}

// --- AGT-5 ---

class Ungated : public DriverTest {
 protected:
  void expect_ungated(const char* reason) {
    EXPECT_THAT(all<KillAgent>(), SizeIs(1));
    EXPECT_THAT(events(), ElementsAre(AllOf(HasSubstr(R"("outcome":"ungated")"), HasSubstr(reason))));
    EXPECT_TRUE(all<PostEvent>()[0].is_essential);
    say(agents::TurnOver{.end = TurnEnd::completed, .text = "done", .refused = {}});
    EXPECT_THAT(events(), SizeIs(1)) << "what was killed says nothing any more";
    end_agent();
    EXPECT_EQ(exit_code(), 1);
  }
};

TEST_F(Ungated, result_of_a_call_that_nobody_asked_about) {
  start();
  announce("c1");
  end_call("c1");
  expect_ungated("Bash (c1)");
}

TEST_F(Ungated, result_of_a_call_that_waits) {
  start();
  hook(1, "c1");
  wait(asked());
  end_call("c1");
  EXPECT_THAT(all<PostResult>(), SizeIs(1)) << "Reeve notes it";
  expect_ungated("Bash (c1)");
}

TEST_F(Ungated, result_of_a_call_that_was_denied) {
  start();
  hook(1, "c1");
  decide(asked(), CallReplyDecision::deny);
  end_call("c1");
  expect_ungated("Bash (c1)");
}

TEST_F(Ungated, result_after_the_agent_was_told_to_end) {
  start();
  open_session();
  hook(1, "c1");
  wait(asked());
  advance(release_after + std::chrono::seconds(1));
  decide(asked(), CallReplyDecision::wait);
  end_call("c1");
  expect_ungated("Bash (c1)");
}

TEST_F(Ungated, answer_of_somebody_else) {
  start();
  say(agents::AnsweredElsewhere{.call = "c1"});
  expect_ungated("c1");
}

TEST_F(Ungated, fault_of_the_gate) {
  start();
  say(agents::ProtocolFault{.reason = "the mode is bypass", .is_ungated = true});
  expect_ungated("the mode is bypass");
}

TEST_F(DriverTest, refused_calls_are_not_ungated) {
  start();
  hook(1, "c1");
  decide(asked(), CallReplyDecision::deny);
  end_call("c1", true);
  end_call("c2", true);
  EXPECT_THAT(all<KillAgent>(), IsEmpty());
}

// What an agent does not ask about cannot be told from what it may do; what was denied can.
TEST_F(DriverTest, agent_that_only_asks_is_held_to_its_answers) {
  agent_.how_far = GateReach::asks;
  start();
  end_call("c1");
  EXPECT_THAT(all<KillAgent>(), IsEmpty());
  hook(1, "c2");
  decide(asked(), CallReplyDecision::deny);
  end_call("c2");
  EXPECT_THAT(all<KillAgent>(), SizeIs(1));
}

// claude-agent-acp says on its end that the call which waits has failed. A result of it is still ungated.
TEST_F(DriverTest, agent_that_only_asks_may_fail_the_call_it_is_released_for) {
  for (const bool has_failed : {true, false}) {
    agent_.how_far = GateReach::asks;
    agent_.way = ReleaseWay::end;
    start();
    open_session();
    say(agents::CallAsked{.ticket = 9, .call = "c1", .tool = "execute", .arguments = command("x")});
    wait(asked());
    advance(release_after + std::chrono::seconds(1));
    decide(asked(), CallReplyDecision::wait);
    say(agents::CallEnded{.call = "c1", .has_failed = has_failed, .digest = "sha256:1", .bytes = 12});
    EXPECT_EQ(all<KillAgent>().size(), has_failed ? 0U : 1U);
    end_agent();
    EXPECT_EQ(exit_code(), has_failed ? 90 : 1);
    agent_.forget();
    forget();
  }
}

// --- The end ---

TEST_F(DriverTest, completed_turn_gives_the_final_answer) {
  start();
  open_session();
  say(agents::TurnOver{.end = TurnEnd::completed, .text = "All tests pass.", .refused = {}});
  EXPECT_THAT(events(), ElementsAre(R"({"event":"result","data":{"text":"All tests pass.","session_id":"s-1"}})"));
  EXPECT_THAT(all<CloseInput>(), SizeIs(1));
  advance(std::chrono::seconds(11));
  EXPECT_THAT(all<SignalAgent>(), SizeIs(1)) << "it does not end by itself";
  end_agent(143);
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(DriverTest, refused_calls_are_an_outcome) {
  start();
  hook(1, "c1");
  decide(asked(), CallReplyDecision::deny);
  say(agents::TurnOver{.end = TurnEnd::completed, .text = "", .refused = {}});
  EXPECT_THAT(events(), ElementsAre(HasSubstr(R"("outcome":"denied")"), HasSubstr("\"result\"")));
  end_agent();
  EXPECT_EQ(exit_code(), 0);
}

TEST_F(DriverTest, long_answers_fit_into_an_event) {
  start();
  say(agents::TurnOver{.end = TurnEnd::completed, .text = std::string(200'000, '\x01'), .refused = {}});
  EXPECT_LE(events().at(0).size(), 64UZ * 1024);
  EXPECT_GE(events().at(0).size(), 32UZ * 1024);
}

TEST_F(DriverTest, failed_turn_fails_the_run) {
  start();
  say(agents::TurnOver{.end = TurnEnd::failed, .text = "API Error: 500", .refused = {}});
  EXPECT_THAT(errors(), ElementsAre("error: API Error: 500"));
  end_agent(1);
  EXPECT_EQ(exit_code(), 1);
}

TEST_F(DriverTest, agent_that_dies_fails_the_run) {
  start();
  keep(driver_->on_error_line(now_, "Segmentation fault"));
  end_agent(139);
  EXPECT_THAT(errors(), ElementsAre("claude: Segmentation fault",
                                    "error: the agent ended without finishing its turn (exit code 139): "
                                    "Segmentation fault"));
  EXPECT_EQ(exit_code(), 1);
}

TEST_F(DriverTest, exit_may_tell_what_has_happened) {
  start();
  agent_.next.events.emplace_back(agents::LoginMissing{.text = "Invalid auth method selected."});
  end_agent(41);
  EXPECT_THAT(events(), ElementsAre(HasSubstr(R"("outcome":"not_logged_in")")));
  EXPECT_THAT(errors(), SizeIs(1));
  EXPECT_EQ(exit_code(), 1);
}

// RUN-18
TEST_F(DriverTest, usage_limit_says_until_when) {
  start();
  const auto until = base::parse_time("2026-11-20T17:11:00.000Z");
  say(agents::LimitReached{.text = "You've hit your limit", .resets_at = until});
  EXPECT_THAT(events(), ElementsAre(AllOf(HasSubstr(R"("outcome":"limited")"), HasSubstr("hit your limit"),
                                          HasSubstr(R"("resets_at":"2026-11-20T17:11:00.000Z")"))));
  say(agents::TurnOver{.end = TurnEnd::failed, .text = "limit", .refused = {}});
  end_agent(1);
  EXPECT_EQ(exit_code(), 75);
}

TEST_F(DriverTest, agent_that_only_retries_is_limited) {
  start();
  for (int i = 1; i <= 4; ++i) say(agents::RetryNoted{.attempt = i, .text = "429"});
  say(agents::TextSaid{.text = "again"});
  for (int i = 1; i <= 4; ++i) say(agents::RetryNoted{.attempt = i, .text = "429"});
  EXPECT_THAT(events(), IsEmpty());
  say(agents::RetryNoted{.attempt = 5, .text = "429"});
  EXPECT_THAT(events(), ElementsAre(AllOf(HasSubstr(R"("outcome":"limited")"), Not(HasSubstr("resets_at")))));
  end_agent();
  EXPECT_EQ(exit_code(), 75);
}

TEST_F(DriverTest, slow_retries_are_a_limit_too) {
  start();
  say(agents::RetryNoted{.attempt = 1, .text = "429"});
  now_ += std::chrono::seconds(121);
  say(agents::RetryNoted{.attempt = 2, .text = "429"});
  EXPECT_THAT(events(), Contains(HasSubstr(R"("outcome":"limited")")));
}

TEST_F(DriverTest, missing_login_is_an_outcome) {
  start();
  say(agents::LoginMissing{.text = "run /login"});
  EXPECT_THAT(events(), ElementsAre(HasSubstr(R"("outcome":"not_logged_in")")));
  end_agent(1);
  EXPECT_EQ(exit_code(), 1);
}

TEST_F(DriverTest, signals_end_the_agent) {
  start();
  keep(driver_->on_signal(now_, SIGTERM));
  advance(std::chrono::seconds(6));
  EXPECT_THAT(all<SignalAgent>(), SizeIs(1));
  EXPECT_THAT(all<KillAgent>(), SizeIs(1));
  end_agent(1);
  EXPECT_EQ(exit_code(), 143);
}

TEST_F(DriverTest, broken_protocol_fails_the_run) {
  start();
  say(agents::ProtocolFault{.reason = "not JSON", .is_ungated = false});
  advance(std::chrono::milliseconds(1));
  EXPECT_THAT(all<SignalAgent>(), SizeIs(1));
  hook(1, "c1");
  EXPECT_THAT(answers(), ElementsAre(std::pair(1, HookDecision::deny)));
  end_agent(1);
  EXPECT_EQ(exit_code(), 1);
  EXPECT_THAT(errors(), ElementsAre("error: not JSON"));
}

// --- Sessions ---

// AGT-4
TEST_F(DriverTest, session_is_posted_at_once_and_then_at_most_once_a_second) {
  start({.resumed_session = "s-1", .stored_usage = {.input_tokens = 100}});
  open_session();
  for (int i = 1; i <= 50; ++i) {
    say(agents::UsageTotals{.input_tokens = i});
    advance(std::chrono::milliseconds(100));
  }
  const auto posted = all<PostSession>();
  EXPECT_THAT(posted, SizeIs(::testing::AllOf(::testing::Ge(4U), ::testing::Le(7U))));
  EXPECT_EQ(posted.front().report.usage->input_tokens, 100);
  end_agent();
  EXPECT_EQ(all<PostSession>().back().report.usage->input_tokens, 150);
}

TEST_F(DriverTest, totals_of_another_session_begin_anew) {
  start({.resumed_session = "s-1", .stored_usage = {.input_tokens = 100}});
  open_session("s-2");
  say(agents::UsageTotals{.input_tokens = 7});
  end_agent();
  EXPECT_EQ(all<PostSession>().back().report.usage->input_tokens, 7);
}

TEST_F(DriverTest, silent_work_is_a_sign_of_life) {
  start();
  for (int i = 0; i < 60; ++i) {
    now_ += std::chrono::seconds(1);
    say(agents::UsageTotals{});
  }
  EXPECT_THAT(events(), SizeIs(::testing::AllOf(::testing::Ge(5U), ::testing::Le(6U))));
  EXPECT_EQ(events()[0], R"({"event":"heartbeat"})");
}

}  // namespace
}  // namespace reeve::adapter
