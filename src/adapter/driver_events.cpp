#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "adapter/driver.h"
#include "adapter/printed_line.h"
#include "base/text.h"
#include "json/encode.h"

// What the agent says.
namespace reeve::adapter {

namespace {

using agents::TurnEnd;
using base::Milliseconds;
using base::Value;
using Verdict = CallBook::Verdict;

// The time to end by itself, after the turn.
constexpr std::chrono::seconds end_time(10);
// A resumed agent that asks for its deferred call does it within this time of opening its session.
constexpr std::chrono::seconds silence_time(10);
// Of a body that the run's socket takes; the rest of it is small.
constexpr std::size_t max_event_bytes = 60UZ * 1024;
constexpr std::size_t max_reason = 2'048;
constexpr std::size_t max_name = 120;
// A window of a usage limit is shown again when its use has changed that much.
constexpr double window_step = 5;
constexpr std::size_t max_windows = 16;

// The longest prefix that fits into a body once it is JSON.
std::string fit_into_event(std::string_view text) {
  std::string fitting = base::replace_invalid_utf8(base::truncate_utf8(text, agents::max_event_text));
  while (json::encode(Value::string(fitting)).size() > max_event_bytes) {
    fitting = base::truncate_utf8(fitting, fitting.size() * 3 / 4);
  }
  return fitting;
}

std::optional<std::string> shown_name(const std::optional<std::string>& name) {
  if (!name || name->empty()) return std::nullopt;
  return std::string(base::truncate_utf8(base::visible(*name), max_name));
}

}  // namespace

void Driver::on(const agents::SessionOpened& event) {
  if (event.session.empty()) return;
  const bool is_new = event.session != session_.session_id;
  const bool is_stored = event.session == terms_.resumed_session;
  const bool was_another = terms_.resumed_session || !session_.session_id.empty();
  if (is_new && !is_stored && was_another) totals_ = SessionTotals();
  if (is_new) is_session_stored_ = false;
  session_.session_id = event.session;
  if (event.version) session_.version = shown_name(event.version);
  if (event.model) session_.model = shown_name(event.model);
  // The attempt that resumes the run after a crash must know it.
  if (is_new) {
    post_session();
  } else {
    must_post_session_ = true;
  }
  if (is_new && continue_at_) continue_at_ = now_ + silence_time;
}

void Driver::post_session() {
  if (session_.session_id.empty()) return;
  must_post_session_ = false;
  session_posted_at_ = now_;
  session_.usage = totals_.now();
  add(PostSession{session_});
}

void Driver::on(const agents::TextSaid& event) {
  note_progress();
  if (base::trim(event.text).empty()) return;
  for (std::string& line : make_said_lines(event.text)) print(std::move(line));
  shown_call_.clear();
}

void Driver::on(const agents::CallAnnounced& event) {
  note_progress();
  if (!book_.knows(event.call)) print_call(event.call, event.tool, event.arguments);
  book_.announce(event.call, event.tool, event.arguments, event.parent);
}

void Driver::on(const agents::CallAsked& event) {
  note_progress();
  wire::CallRequest request{.call = event.call,
                            .tool = event.tool,
                            .arguments = event.arguments,
                            .cwd = event.cwd,
                            .parent = event.parent,
                            .channel = model::CallChannel::adapter};
  if (request.call.empty()) request.call = fmt::format("ticket-{}", event.ticket);
  ask({.kind = Asker::Kind::ticket, .id = event.ticket}, std::move(request));
}

void Driver::on(const agents::CallWithdrawn& event) { remove_asker({.kind = Asker::Kind::ticket, .id = event.ticket}); }

void Driver::on(const agents::CallEnded& event) {
  note_progress();
  const bool was_refused = event.was_refused || (!protocol_.marks_refusals() && event.has_failed &&
                                                 book_.is_denial(event.call, event.digest));
  // An agent that is ended for its release may say that the call which waits has failed (claude-agent-acp does).
  const bool is_cut_off = ending_ && ending_->code == released_exit_code && event.has_failed &&
                          protocol_.reach() == agents::GateReach::asks;
  const CallBook::Ended ended = book_.end(event.call, was_refused || is_cut_off);
  const bool is_gated = protocol_.reach() == agents::GateReach::gated;
  const bool is_ungated = ended.verdict == Verdict::not_allowed || (ended.verdict == Verdict::unknown && is_gated);
  if (is_ungated && protocol_.reach() != agents::GateReach::unguarded) {
    report_result(ended, event);
    const std::string tool = ended.tool.empty() ? "a call" : make_line("", ended.tool, max_name);
    return end_ungated(fmt::format("the agent has run {} ({}), which Reeve did not allow; it was killed", tool,
                                   make_line("", event.call, max_name)));
  }
  if (ended.verdict == Verdict::refused || !ended.is_news) return;
  print(fmt::format("  {}: {} bytes{}", event.has_failed ? "failed" : "ran", event.bytes,
                    event.call == shown_call_ ? "" : make_line(" (", ended.tool, max_name) + ")"));
  report_result(ended, event);
}

void Driver::report_result(const CallBook::Ended& ended, const agents::CallEnded& event) {
  const BookedCall* call = ended.number ? book_.find(*ended.number) : nullptr;
  if (call == nullptr || !call->reeve_call) return;
  wire::CallReport report{.failed = event.has_failed, .bytes = event.bytes};
  if (!event.digest.empty()) report.digest = event.digest;
  if (call->state == CallState::allowed) {
    report.duration_ms = std::chrono::duration_cast<Milliseconds>(now_ - call->allowed_at).count();
  }
  add(PostResult{*call->reeve_call, std::move(report)});
}

void Driver::on(const agents::UsageTotals& event) { must_post_session_ = totals_.update(event) || must_post_session_; }

void Driver::on(const agents::LimitWindow& event) {
  const double used = event.used_percent.value_or(0);
  if (!event.used_percent || !std::isfinite(used)) return;
  const auto told = told_windows_.find(event.name);
  const bool is_known = told != told_windows_.end();
  if (is_known && std::abs(told->second - used) < window_step) return;
  if (!is_known && told_windows_.size() >= max_windows) return;
  told_windows_.insert_or_assign(event.name, used);
  const std::string until = event.resets_at ? fmt::format(", resets at {}", base::format_time(*event.resets_at)) : "";
  print(make_line("  usage limit ", fmt::format("{}: {:.0f} % used{}", event.name, used, until), max_reason));
}

void Driver::on(const agents::LimitReached& event) {
  if (ending_) return;
  const std::string text = make_line("", event.text, max_reason);
  const std::string until = event.resets_at ? fmt::format(" (resets at {})", base::format_time(*event.resets_at)) : "";
  print_error(make_line("error: usage limit reached: ", text + until));
  post_outcome("limited", text.empty() ? "usage limit reached" : text, event.resets_at);
  end_agent(limited_exit_code, Milliseconds(0));
}

void Driver::on(const agents::RetryNoted& event) {
  continue_at_.reset();
  if (ending_) return;
  print(make_line("  the agent repeats a request to its model: ", event.text, max_reason));
  if (!retries_.on_retry(now_)) return;
  on(agents::LimitReached{.text = "the agent does nothing but repeat a request to its model: " + event.text,
                          .resets_at = {}});
}

void Driver::on(const agents::LoginMissing& event) {
  if (ending_) return;
  const std::string text = make_line("", event.text, max_reason);
  print_error(make_line("error: the agent is not logged in: ", text));
  post_outcome("not_logged_in", text.empty() ? "the agent is not logged in" : text);
  end_agent(failed_exit_code, Milliseconds(0));
}

void Driver::on(const agents::AnsweredElsewhere& event) {
  end_ungated(fmt::format("somebody else answered the agent's question about {}; it was killed",
                          make_line("", event.call, max_name)));
}

void Driver::on(const agents::ProtocolFault& event) {
  if (event.is_ungated) return end_ungated(event.reason);
  if (!ending_) fail(event.reason);
}

void Driver::on(const agents::TurnOver& event) {
  note_progress();
  add(CloseInput{});
  if (is_turn_over_) return;
  is_turn_over_ = true;
  // A released agent ends its turn, too.
  if (ending_) return;
  switch (event.end) {
    case TurnEnd::completed:
      return complete(event);
    case TurnEnd::failed:
      return fail(event.text.empty() ? "the agent's turn failed" : event.text);
    case TurnEnd::interrupted:
      return fail("the agent's turn was interrupted");
    case TurnEnd::deferred:
      return fail("the agent has put off a call without being told to");
  }
}

void Driver::complete(const agents::TurnOver& event) {
  bool was_refused = was_denied_;
  for (const std::string& call : event.refused) was_refused = was_refused || !denied_while_held_.contains(call);
  if (was_refused) post_outcome("denied", "calls that the agent made were refused");
  Value data = Value::object({{"text", Value::string(fit_into_event(event.text))}});
  if (!session_.session_id.empty()) data.set("session_id", Value::string(session_.session_id));
  add(PostEvent{.event = Value::object({{"event", Value::string("result")}, {"data", std::move(data)}}),
                .is_essential = true});
  if (must_post_session_) post_session();
  // A server does not end by itself.
  end_agent(0, has_opened_events_ ? Milliseconds(0) : Milliseconds(end_time));
}

void Driver::post_outcome(std::string_view outcome, std::string_view reason,
                          const std::optional<base::WallTime>& resets_at) {
  Value event = Value::object({{"event", Value::string("outcome")},
                               {"outcome", Value::string(outcome)},
                               {"reason", Value::string(base::truncate_utf8(reason, max_reason))}});
  if (resets_at) event.set("resets_at", Value::string(base::format_time(*resets_at)));
  add(PostEvent{.event = std::move(event), .is_essential = true});
}

}  // namespace reeve::adapter
