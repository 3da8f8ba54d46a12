#include "adapter/driver.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include "adapter/printed_line.h"

namespace reeve::adapter {

namespace {

using agents::AgentReaction;
using base::BootTime;
using base::Milliseconds;

constexpr std::chrono::seconds heartbeat_interval(10);
constexpr std::chrono::seconds session_interval(1);
constexpr std::chrono::seconds waiting_check_interval(1);
// A resumed agent that does not even open its session by then waits for a prompt.
constexpr std::chrono::seconds silence_after_start(20);
constexpr int signal_exit_base = 128;

// The hooks of Gemini CLI have no ids of calls.
CallMatch match_of(agents::AgentKind kind) {
  return kind == agents::AgentKind::gemini ? CallMatch::by_content : CallMatch::by_id;
}

std::string describe_end(const os::ExitStatus& status) {
  if (status.signal) return fmt::format("signal {}", *status.signal);
  return fmt::format("exit code {}", status.code.value_or(0));
}

void add_earlier(std::optional<BootTime>& earliest, const std::optional<BootTime>& time) {
  if (time && (!earliest || *time < *earliest)) earliest = time;
}

}  // namespace

Driver::Driver(DriverTerms terms, agents::AgentProtocol& protocol)
    : terms_(std::move(terms)), protocol_(protocol), book_(match_of(terms_.kind)), totals_(terms_.stored_usage) {
  session_.agent = base::spell(terms_.kind);
}

Effects Driver::take_effects() { return std::exchange(effects_, {}); }

void Driver::print(std::string line) {
  printed_at_ = now_;
  add(PrintLine{std::move(line)});
}

void Driver::apply(const AgentReaction& reaction) {
  if (!reaction.lines.empty()) add(SendLines{reaction.lines});
  if (const std::string address = protocol_.server_address(); !address.empty() && !has_opened_events_) {
    has_opened_events_ = true;
    add(OpenEvents{address});
  }
  if (!reaction.requests.empty()) add(SendRequests{reaction.requests});
  for (const agents::AgentEvent& event : reaction.events) {
    // What was killed says nothing any more.
    if (is_ungated_) return;
    std::visit([this](const auto& one) { on(one); }, event);
  }
  if (reaction.closes_input) add(CloseInput{});
}

Effects Driver::begin(BootTime now) {
  now_ = printed_at_ = heartbeat_at_ = now;
  if (is_silent_resume()) continue_at_ = now_ + silence_after_start;
  apply(protocol_.begin());
  return take_effects();
}

// Only an agent that defers asks again by itself; the others are given a prompt at their start.
bool Driver::is_silent_resume() const {
  return terms_.has_deferred_call && protocol_.release_way() == agents::ReleaseWay::defer;
}

void Driver::note_progress() {
  retries_.on_progress();
  continue_at_.reset();
}

// A sign of life for a run whose output is silent.
void Driver::note_bytes() {
  if (now_ - printed_at_ < heartbeat_interval || now_ - heartbeat_at_ < heartbeat_interval) return;
  heartbeat_at_ = now_;
  add(PostEvent{base::Value::object({{"event", base::Value::string("heartbeat")}})});
}

Effects Driver::on_line(BootTime now, std::string_view line) {
  now_ = now;
  note_bytes();
  if (!is_ungated_) apply(protocol_.on_line(line));
  return take_effects();
}

Effects Driver::on_error_line(BootTime now, std::string_view line) {
  now_ = now;
  note_bytes();
  if (line.empty()) return take_effects();
  last_error_line_ = make_line("", line, 1'024);
  print_error(make_error_line(base::spell(terms_.kind), line));
  if (!is_ungated_) apply(protocol_.on_error_line(line));
  return take_effects();
}

Effects Driver::on_event(BootTime now, std::string_view data) {
  now_ = now;
  note_bytes();
  if (!is_ungated_) apply(protocol_.on_event(data));
  return take_effects();
}

Effects Driver::on_response(BootTime now, std::uint64_t number, int status, std::string_view body) {
  now_ = now;
  if (!is_ungated_) apply(protocol_.on_response(number, status, body));
  return take_effects();
}

Effects Driver::on_broken(BootTime now, std::string_view why) {
  now_ = now;
  if (!ending_) fail(why);
  return take_effects();
}

Effects Driver::on_session_stored(BootTime now) {
  now_ = now;
  is_session_stored_ = true;
  return take_effects();
}

Effects Driver::on_signal(BootTime now, int number) {
  now_ = now;
  const int code = signal_exit_base + number;
  end_agent(code, Milliseconds(0));
  ending_->steps.hurry(now);
  const bool was_fine = ending_->code == 0 || ending_->code == released_exit_code;
  if (was_fine) ending_->code = code;
  return take_effects();
}

void Driver::end_agent(int code, Milliseconds patience) {
  if (ending_) return;
  ending_ = Ending{.code = code, .steps = AgentEnd(now_, patience)};
  continue_at_.reset();
  // Nobody waits for these answers any more. A released agent has left its call before.
  for (const auto& [number, open] : open_) add(DropCall{number});
  open_.clear();
}

void Driver::fail(std::string_view reason) {
  print_error(make_line("error: ", reason));
  end_agent(failed_exit_code, Milliseconds(0));
}

// AGT-5: the whole agent is killed at once.
void Driver::end_ungated(std::string_view reason) {
  is_ungated_ = true;
  add(KillAgent{});
  print_error(make_line("error: ungated: ", reason));
  post_outcome("ungated", reason);
  end_agent(failed_exit_code, Milliseconds(0));
  ending_->code = failed_exit_code;
}

Effects Driver::on_agent_gone(BootTime now, const os::ExitStatus& status) {
  now_ = now;
  if (is_over_) return take_effects();
  is_over_ = true;
  // Some agents say only by their exit code what has happened.
  if (!ending_) apply(protocol_.on_exit(status.code.value_or(signal_exit_base + status.signal.value_or(0))));
  if (!ending_) {
    const std::string last = last_error_line_.empty() ? "" : ": " + last_error_line_;
    fail(fmt::format("the agent ended without finishing its turn ({}){}", describe_end(status), last));
  }
  // AGT-6: zero processes remain.
  if (ending_->code == released_exit_code) add(KillAgent{});
  if (must_post_session_) post_session();
  add(Finish{ending_->code});
  return take_effects();
}

Effects Driver::on_time(BootTime now) {
  now_ = now;
  if (is_over_) return take_effects();
  if (must_post_session_ && now_ - session_posted_at_ >= session_interval) post_session();
  if (ending_) {
    if (const auto number = ending_->steps.take_due(now_)) {
      add(*number == SIGKILL ? Effect(KillAgent{}) : Effect(SignalAgent{*number}));
    }
    return take_effects();
  }
  if (continue_at_ && now_ >= *continue_at_) {
    continue_at_.reset();
    apply(protocol_.say(terms_.continuation));
  }
  look_at_waiting();
  return take_effects();
}

std::optional<BootTime> Driver::next_time() const {
  std::optional<BootTime> next;
  if (is_over_) return next;
  if (must_post_session_) add_earlier(next, session_posted_at_ + session_interval);
  if (ending_) {
    add_earlier(next, ending_->steps.next());
    return next;
  }
  add_earlier(next, continue_at_);
  if (!terms_.release_after) return next;
  for (const auto& [number, open] : open_) {
    if (open.stage != Stage::waiting) continue;
    const BootTime due = open.waits_since + *terms_.release_after;
    // What cannot be released yet is looked at again.
    add_earlier(next, due > now_ ? due : now_ + waiting_check_interval);
  }
  return next;
}

}  // namespace reeve::adapter
