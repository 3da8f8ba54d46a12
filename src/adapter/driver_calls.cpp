#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "adapter/driver.h"
#include "adapter/printed_line.h"

// One function decides about a call, on every channel: a hook or the agent's protocol (AGT-4). Nothing but Reeve's own
// yes is a yes (TOOL-9).
namespace reeve::adapter {

namespace {

using agents::CallVerdict;
using agents::ReleaseWay;
using base::BootTime;
using base::Milliseconds;
using wire::CallReply;
using wire::CallReplyDecision;

// A message of the agent that is not whole yet may become whole for that long.
constexpr std::chrono::seconds settle_time(10);
// An agent that was told to end has that long for it.
constexpr std::chrono::seconds defer_time(30);
constexpr std::chrono::seconds interrupt_time(10);
constexpr const char* held_reason = "no answer yet: ask again, one call at a time";

std::string describe_deny(const CallReply& reply) {
  std::string reason = reply.reason.value_or(std::string());
  if (reason.empty()) reason = fmt::format("denied by {}", reply.rule.empty() ? "Reeve" : reply.rule);
  if (reply.hint && !reply.hint->empty()) reason += fmt::format("; {}", *reply.hint);
  return reason;
}

std::string describe_allow(const CallReply& reply) {
  const std::string by = reply.approval_id ? reply.approval_id->text() : reply.rule;
  return fmt::format("Reeve allowed {}{}{}", reply.call_id.text(), by.empty() ? "" : ": ", by);
}

wire::HookDecision hook_decision(CallVerdict verdict) {
  switch (verdict) {
    case CallVerdict::allow:
      return wire::HookDecision::allow;
    case CallVerdict::defer:
      return wire::HookDecision::defer;
    case CallVerdict::deny:
      break;
  }
  return wire::HookDecision::deny;
}

}  // namespace

Effects Driver::on_hook(BootTime now, std::uint64_t connection, wire::CallRequest request) {
  now_ = now;
  note_progress();
  // What a process of the run may not choose.
  request.channel = model::CallChannel::hook;
  request.execute = false;
  request.parent.reset();
  ask({.kind = Asker::Kind::hook, .id = connection}, std::move(request));
  return take_effects();
}

Effects Driver::on_hook_gone(BootTime now, std::uint64_t connection) {
  now_ = now;
  remove_asker({.kind = Asker::Kind::hook, .id = connection});
  return take_effects();
}

void Driver::ask(const Asker& asker, wire::CallRequest request) {
  if (ending_) return answer(asker, CallVerdict::deny, "the agent is being ended", {});
  // A made-up id is shown again under the agent's own.
  const bool is_shown = book_.knows(request.call) || terms_.kind == agents::AgentKind::gemini;
  if (!is_shown) print_call(request.call, request.tool, request.arguments);
  BookedCall& call = book_.ask(request.call, request.tool, request.arguments);
  if (call.has_ended) return answer(asker, CallVerdict::deny, "this call was answered and has ended", call.reeve_call);
  if (call.state == CallState::allowed) return answer(asker, CallVerdict::allow, call.reason, call.reeve_call);
  if (call.state == CallState::denied) return answer(asker, CallVerdict::deny, call.reason, call.reeve_call);
  const std::uint64_t number = call.number;
  if (const auto known = open_.find(number); known != open_.end()) {
    const bool is_elsewhere = request.cwd && known->second.request.cwd && request.cwd != known->second.request.cwd;
    if (is_elsewhere) return answer(asker, CallVerdict::deny, "the same call waits in another folder", {});
    known->second.askers.push_back(asker);
    return;
  }
  if (open_.size() >= max_open_calls) {
    book_.decide(number, CallState::denied, fmt::format("{} calls wait already", max_open_calls));
    return answer(asker, CallVerdict::deny, call.reason, {});
  }
  request.dialect = std::string(base::spell(terms_.kind));
  request.may_defer = terms_.release_after.has_value();
  if (!request.session && !session_.session_id.empty()) request.session = session_.session_id;
  if (!request.parent) request.parent = book_.find_parent(request.call);
  open_.emplace(number, OpenCall{.request = request, .askers = {asker}});
  add(AskReeve{.number = number, .request = std::move(request), .leave_after = terms_.release_after});
}

void Driver::answer(const Asker& asker, CallVerdict verdict, const std::string& reason,
                    const std::optional<base::CallId>& call) {
  if (asker.kind == Asker::Kind::hook) {
    return add(AnswerHook{asker.id, {.decision = hook_decision(verdict), .reason = reason, .call_id = call}});
  }
  apply(protocol_.answer(asker.id, {.verdict = verdict, .reason = reason}));
}

void Driver::remove_asker(const Asker& asker) {
  for (auto& [number, open] : open_) {
    if (std::erase(open.askers, asker) == 0) continue;
    if (!open.askers.empty()) return;
    // Nobody is left who could act on a yes.
    add(DropCall{number});
    if (open.reeve_call) add(WithdrawCall{*open.reeve_call});
    book_.decide(number, CallState::denied, "the agent no longer waited for the answer");
    open_.erase(number);
    return;
  }
}

void Driver::print_call(const std::string& call, std::string_view tool, const base::Value& arguments) {
  print(make_call_line(tool, arguments));
  shown_call_ = call;
}

void Driver::print_about(const OpenCall& open, std::string_view text) {
  const wire::CallRequest& request = open.request;
  std::string line(text);
  if (request.call != shown_call_)
    line += fmt::format(" ({} {})", request.tool, summarize_arguments(request.arguments));
  shown_call_ = request.call;
  print(make_line("  ", line));
}

Effects Driver::on_call_waits(BootTime now, std::uint64_t number, const CallReply& reply) {
  now_ = now;
  const auto found = open_.find(number);
  if (found == open_.end()) {
    // Given up before Reeve answered at all.
    if (!ending_) add(WithdrawCall{reply.call_id});
    return take_effects();
  }
  OpenCall& open = found->second;
  open.reeve_call = reply.call_id;
  if (BookedCall* call = book_.find(number)) call->reeve_call = reply.call_id;
  open.approval = reply.approval_id ? reply.approval_id->text() : "a person";
  // A call that was left and asked again has waited before.
  if (open.waits_since == BootTime{}) {
    open.waits_since = now_;
    print_about(open, "waits for " + open.approval);
  }
  if (open.stage == Stage::asking) open.stage = Stage::waiting;
  const auto waiting = std::ranges::count_if(open_, [](const auto& one) { return one.second.stage != Stage::asking; });
  if (waiting > 1 && !has_told_holding_ && terms_.release_after) {
    has_told_holding_ = true;
    print(fmt::format("holding: {} calls wait for a person", waiting));
  }
  return take_effects();
}

Effects Driver::on_call_reply(BootTime now, std::uint64_t number, const std::expected<CallReply, std::string>& reply) {
  now_ = now;
  const auto found = open_.find(number);
  if (found == open_.end()) return take_effects();
  OpenCall& open = found->second;
  if (!reply) {
    if (open.reeve_call) add(WithdrawCall{*open.reeve_call});
    close(number, CallState::denied, "Reeve did not allow this call: " + reply.error());
    return take_effects();
  }
  BookedCall* call = book_.find(number);
  if (call != nullptr) call->reeve_call = reply->call_id;
  open.reeve_call = reply->call_id;
  switch (reply->decision) {
    case CallReplyDecision::allow:
      if (call != nullptr) call->allowed_at = now_;
      close(number, CallState::allowed, describe_allow(*reply));
      break;
    case CallReplyDecision::deny:
      was_denied_ = true;
      close(number, CallState::denied, describe_deny(*reply));
      break;
    case CallReplyDecision::wait:
      if (open.stage == Stage::leaving_to_deny) {
        deny_held(number);
      } else if (open.stage == Stage::leaving_to_release && may_release(open)) {
        release(number);
      } else {
        open.stage = Stage::waiting;
        add(AskReeve{.number = number, .request = open.request, .leave_after = Milliseconds(0)});
      }
      break;
  }
  return take_effects();
}

void Driver::close(std::uint64_t number, CallState state, const std::string& reason) {
  const auto node = open_.extract(number);
  const OpenCall& open = node.mapped();
  book_.decide(number, state, reason);
  const bool is_allowed = state == CallState::allowed;
  print_about(open, is_allowed ? "allowed" : "denied: " + reason);
  for (const Asker& asker : open.askers) {
    answer(asker, is_allowed ? CallVerdict::allow : CallVerdict::deny, reason, open.reeve_call);
  }
}

void Driver::deny_held(std::uint64_t number) {
  const OpenCall& open = open_.at(number);
  if (open.reeve_call) add(WithdrawCall{*open.reeve_call});
  denied_while_held_.insert(open.request.call);
  close(number, CallState::denied, held_reason);
}

void Driver::look_at_waiting() {
  if (!terms_.release_after) return;
  for (auto& [number, open] : open_) {
    if (open.stage != Stage::waiting || now_ < open.waits_since + *terms_.release_after) continue;
    if (may_release(open)) {
      open.stage = Stage::leaving_to_release;
    } else if (must_deny(open)) {
      open.stage = Stage::leaving_to_deny;
    } else {
      continue;
    }
    add(LeaveCall{number});
  }
}

// Nothing else of the agent is under way, and the call is not a part of what is.
bool Driver::is_alone(const OpenCall& open) const {
  const bool is_part = open.request.parent || book_.find_parent(open.request.call);
  return open_.size() == 1 && !is_part && !book_.has_unfinished();
}

// AGT-6: the agent can be ended without losing a call, its result, or the session.
bool Driver::may_release(const OpenCall& open) const {
  return is_alone(open) && is_session_stored_ && protocol_.may_release(open.request.call);
}

// Calls that stand together can never be released. A call that is part of another one, or stands beside one that runs,
// is held: it cannot be asked again alone.
bool Driver::must_deny(const OpenCall& open) const {
  if (open_.size() > 1) return true;
  const bool is_settled = now_ >= open.waits_since + *terms_.release_after + settle_time;
  return is_settled && is_alone(open) && !protocol_.may_release(open.request.call);
}

void Driver::release(std::uint64_t number) {
  const OpenCall open = std::move(open_.extract(number).mapped());
  print(make_line("released: ", open.approval + " waits for an answer; then the agent continues"));
  switch (protocol_.release_way()) {
    case ReleaseWay::defer:
      end_agent(released_exit_code, defer_time);
      for (const Asker& asker : open.askers) {
        answer(asker, CallVerdict::defer, "a person has not answered yet", open.reeve_call);
      }
      break;
    case ReleaseWay::interrupt:
      end_agent(released_exit_code, interrupt_time);
      apply(protocol_.interrupt());
      break;
    case ReleaseWay::end:
      end_agent(released_exit_code, Milliseconds(0));
      break;
  }
}

}  // namespace reeve::adapter
