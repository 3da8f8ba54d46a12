#include "agents/protocol/acp_protocol.h"

#include <utility>

#include <fmt/format.h>

#include "agents/protocol/acp_calls.h"
#include "agents/protocol/acp_session.h"
#include "agents/protocol/acp_text.h"
#include "agents/protocol/acp_usage.h"
#include "agents/protocol/first_prompt.h"
#include "agents/protocol/json_members.h"
#include "agents/protocol/json_rpc.h"
#include "agents/protocol/open_questions.h"
#include "base/text.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::string_view permission_request = "session/request_permission";

Value make_selected(const std::string& option) {
  Value outcome = Value::object({{"outcome", Value::string("selected")}, {"optionId", Value::string(option)}});
  return Value::object({{"outcome", std::move(outcome)}});
}

Value make_cancelled() {
  return Value::object({{"outcome", Value::object({{"outcome", Value::string("cancelled")}})}});
}

class AcpProtocol final : public AgentProtocol {
 public:
  explicit AcpProtocol(const AgentSetup& setup) : setup_(setup), prompt_(make_first_prompt(setup)) {}

  AgentReaction begin() override;
  AgentReaction on_line(std::string_view line) override;
  AgentReaction answer(std::uint64_t ticket, const CallAnswer& answer) override;
  AgentReaction interrupt() override;
  AgentReaction say(std::string_view prompt) override;

  // A process that is killed while it asks keeps its session with claude-agent-acp, opencode and Qwen (measured). A
  // cancelled turn would leave a refusal in it.
  ReleaseWay release_way() const override { return ReleaseWay::end; }
  GateReach reach() const override { return GateReach::asks; }
  bool may_release(std::string_view call) const override {
    return (agent_.can_resume || agent_.can_load) && questions_.is_only(call);
  }

 private:
  enum class Phase { opening, idle, running, over, faulted };
  // The agent's words for the answers; nothing if it does not offer one.
  struct Options {
    std::optional<std::string> once;
    std::optional<std::string> reject;
  };
  using Questions = OpenQuestions<Options>;

  void on_request(const RpcRequest& request, AgentReaction& out);
  void on_permission(const RpcRequest& request, AgentReaction& out);
  void on_notification(const RpcNotification& message, AgentReaction& out);
  void on_update(const Value& update, AgentReaction& out);
  void on_mode(const std::string& mode, AgentReaction& out);
  void on_answer(const RpcAnswer& answer, AgentReaction& out);
  void on_hello(const Value& hello, AgentReaction& out);
  void on_session(const RpcAnswer& answer, AgentReaction& out);
  void on_mode_set(const RpcAnswer& answer, AgentReaction& out);
  void on_prompt_over(const RpcAnswer& answer, AgentReaction& out);

  void open_session(AgentReaction& out);
  void start_turn(std::string_view prompt, AgentReaction& out);
  void end_turn(TurnEnd end, std::string text, AgentReaction& out);
  void fail(const RpcError& error, AgentReaction& out);
  void cancel(AgentReaction& out);
  void deny(const Questions::Question& question, AgentReaction& out);
  void send(std::string_view method, Value params, AgentReaction& out);
  void fault(ProtocolFault fault, AgentReaction& out);
  Value session_params() const { return Value::object({{"sessionId", Value::string(session_)}}); }

  AgentSetup setup_;
  RpcClient rpc_{RpcVersion::sent};
  Phase phase_ = Phase::opening;
  AcpAgent agent_;
  std::string session_;
  std::optional<std::string> model_;
  bool has_modes_ = false;
  // Asked for, while the agent has not answered.
  std::optional<std::string> wanted_mode_;
  // The last one that an update named.
  std::optional<std::string> seen_mode_;
  // For the next turn.
  std::optional<std::string> prompt_;
  bool is_cancelled_ = false;
  bool is_deferred_ = false;
  std::size_t line_bytes_ = 0;
  Questions questions_;
  AcpCalls calls_;
  AcpText text_;
  AcpUsage usage_;
};

AgentReaction AcpProtocol::begin() {
  AgentReaction out;
  send("initialize", make_acp_hello(), out);
  return out;
}

AgentReaction AcpProtocol::on_line(std::string_view line) {
  AgentReaction out;
  if (phase_ == Phase::faulted) return out;
  line_bytes_ = line.size();
  RpcMessage message = rpc_.read(line);
  if (const auto* request = std::get_if<RpcRequest>(&message)) {
    on_request(*request, out);
  } else if (const auto* notification = std::get_if<RpcNotification>(&message)) {
    on_notification(*notification, out);
  } else if (const auto* answer = std::get_if<RpcAnswer>(&message)) {
    on_answer(*answer, out);
  } else if (auto* invalid = std::get_if<RpcInvalid>(&message)) {
    out.lines.push_back(std::move(invalid->line));
  } else if (auto* wrong = std::get_if<RpcFault>(&message)) {
    fault({.reason = std::move(wrong->reason)}, out);
  }
  return out;
}

void AcpProtocol::on_request(const RpcRequest& request, AgentReaction& out) {
  if (questions_.withdraw(request.id, out.events)) {
    // No answer could reach only one of the two.
    out.lines.push_back(rpc_.refuse(request.id, rpc_invalid_request, "a request with this id is open"));
  } else if (request.method == permission_request) {
    on_permission(request, out);
  } else {
    // Files and terminals were not offered; agents also try extensions of their own.
    out.lines.push_back(rpc_.refuse(request.id, rpc_method_not_found, "Reeve does not answer this request"));
  }
}

void AcpProtocol::on_permission(const RpcRequest& request, AgentReaction& out) {
  const Value& options = member_of(request.params, "options");
  Questions::Question question{
      .id = request.id,
      .call = {},
      .detail = {.once = find_option(options, "allow_once"), .reject = find_option(options, "reject_once")}};
  const bool is_own = !session_.empty() && id_text_of(request.params, "sessionId") == session_;
  if (phase_ != Phase::running || is_cancelled_ || !is_own || questions_.is_full()) return deny(question, out);
  text_.finish(out.events);
  std::optional<AcpCalls::Named> call;
  auto wrong = calls_.ask(member_of(request.params, "toolCall"), line_bytes_, out.events, call);
  if (wrong) return fault(std::move(*wrong), out);
  if (!call) return deny(question, out);
  question.call = call->call;
  out.events.emplace_back(CallAsked{.ticket = questions_.add(std::move(question)),
                                    .call = call->call,
                                    .tool = std::move(call->tool),
                                    .arguments = std::move(call->arguments),
                                    .cwd = call->cwd.value_or(setup_.folder)});
}

void AcpProtocol::on_notification(const RpcNotification& message, AgentReaction& out) {
  if (message.method == "$/cancel_request") {
    const Value& id = member_of(message.params, "requestId");
    if (questions_.withdraw(id, out.events)) out.lines.push_back(rpc_.refuse(id, rpc_cancelled, "cancelled"));
    return;
  }
  const bool is_own = !session_.empty() && id_text_of(message.params, "sessionId") == session_;
  if (message.method == "session/update" && is_own) on_update(member_of(message.params, "update"), out);
}

void AcpProtocol::on_update(const Value& update, AgentReaction& out) {
  if (const auto mode = find_updated_mode(update, has_modes_)) return on_mode(*mode, out);
  // Updates before the session is open repeat an earlier conversation.
  if (phase_ != Phase::running) return;
  const std::string type = json::text_of(update, "sessionUpdate");
  if (type == "agent_message_chunk") {
    const Value& content = member_of(update, "content");
    if (json::text_of(content, "type") != "text") return;
    text_.add(id_text_of(update, "messageId"), json::text_of(content, "text"), out.events);
  } else if (type == "tool_call" || type == "tool_call_update") {
    text_.finish(out.events);
    if (auto wrong = calls_.update(update, line_bytes_, out.events)) fault(std::move(*wrong), out);
  } else if (type == "usage_update") {
    usage_.on_update(update);
    out.events.emplace_back(usage_.totals());
  }
}

void AcpProtocol::on_mode(const std::string& mode, AgentReaction& out) {
  seen_mode_ = mode;
  // Before the session is open, the mode is still to be set.
  if (phase_ == Phase::opening || is_asking_mode(mode)) return;
  fault({.reason = fmt::format("the agent went into the mode {}, which is not known to ask", base::quoted(mode)),
         .is_ungated = true},
        out);
}

void AcpProtocol::on_answer(const RpcAnswer& answer, AgentReaction& out) {
  if (phase_ == Phase::over) return;
  if (answer.method == "session/prompt") return on_prompt_over(answer, out);
  if (answer.method == "session/set_mode") return on_mode_set(answer, out);
  if (answer.method == "initialize") {
    if (!answer.error) return on_hello(answer.result, out);
    return fault({.reason = fmt::format("the agent refused `initialize`: {}", answer.error->message)}, out);
  }
  on_session(answer, out);
}

void AcpProtocol::on_hello(const Value& hello, AgentReaction& out) {
  auto agent = read_acp_hello(hello);
  if (!agent) return fault(std::move(agent.error()), out);
  agent_ = std::move(*agent);
  Value params = Value::object({{"cwd", Value::string(setup_.folder)}, {"mcpServers", Value::array()}});
  if (!setup_.resumes) return send("session/new", std::move(params), out);
  if (!agent_.can_resume && !agent_.can_load) return fault({.reason = "this agent cannot resume a session"}, out);
  session_ = setup_.session;
  params.set("sessionId", Value::string(session_));
  send(agent_.can_resume ? "session/resume" : "session/load", std::move(params), out);
}

void AcpProtocol::on_session(const RpcAnswer& answer, AgentReaction& out) {
  if (answer.error) {
    if (is_login_error(*answer.error)) return fail(*answer.error, out);
    return fault({.reason = fmt::format("the agent refused `{}`: {}", answer.method, answer.error->message)}, out);
  }
  if (!setup_.resumes) session_ = id_text_of(answer.result, "sessionId");
  if (session_.empty()) return fault({.reason = "the agent opened a session without an id"}, out);
  model_ = find_acp_model(answer.result);
  const auto modes = find_acp_modes(answer.result);
  has_modes_ = modes.has_value();
  // A resumed session of Qwen is back in the mode in which it decides by itself (measured).
  if (!modes || is_asking_mode(modes->current)) return open_session(out);
  wanted_mode_ = choose_asking_mode(*modes);
  if (!wanted_mode_) {
    const std::string known = base::visible(base::truncate_utf8(base::join(modes->available, ", "), max_agent_id));
    return fault({.reason = fmt::format("none of the agent's modes is known to ask: {}", known), .is_ungated = true},
                 out);
  }
  seen_mode_.reset();
  Value params = session_params();
  params.set("modeId", Value::string(*wanted_mode_));
  send("session/set_mode", std::move(params), out);
}

void AcpProtocol::on_mode_set(const RpcAnswer& answer, AgentReaction& out) {
  const std::string wanted = *std::exchange(wanted_mode_, std::nullopt);
  if (!answer.error && seen_mode_.value_or(wanted) == wanted) return open_session(out);
  const std::string why = answer.error ? answer.error->message : "it is in the mode " + base::quoted(*seen_mode_);
  fault({.reason = fmt::format("the agent did not go into its mode `{}`: {}", wanted, why), .is_ungated = true}, out);
}

void AcpProtocol::open_session(AgentReaction& out) {
  out.events.emplace_back(SessionOpened{.session = session_, .version = agent_.version, .model = model_});
  phase_ = Phase::idle;
  if (prompt_) start_turn(*std::exchange(prompt_, std::nullopt), out);
}

void AcpProtocol::start_turn(std::string_view prompt, AgentReaction& out) {
  phase_ = Phase::running;
  is_cancelled_ = false;
  is_deferred_ = false;
  Value params = session_params();
  Value text = Value::object({{"type", Value::string("text")}, {"text", Value::string(prompt)}});
  params.set("prompt", Value::array({std::move(text)}));
  send("session/prompt", std::move(params), out);
}

void AcpProtocol::on_prompt_over(const RpcAnswer& answer, AgentReaction& out) {
  text_.finish(out.events);
  if (answer.error) return fail(*answer.error, out);
  if (usage_.on_turn_over(answer.result)) out.events.emplace_back(usage_.totals());
  const std::string reason = id_text_of(answer.result, "stopReason");
  if (reason == "end_turn") return end_turn(TurnEnd::completed, text_.take_last(), out);
  // codex-acp also ends a turn in this way after a denied call.
  if (reason == "cancelled") return end_turn(is_deferred_ ? TurnEnd::deferred : TurnEnd::interrupted, {}, out);
  const std::string shown = reason.empty() ? "without a reason" : "with " + base::quoted(reason);
  end_turn(TurnEnd::failed, fmt::format("the agent ended its turn {}", shown), out);
}

void AcpProtocol::fail(const RpcError& error, AgentReaction& out) {
  const std::string text = event_text(error.message);
  if (is_login_error(error)) out.events.emplace_back(LoginMissing{text});
  if (is_limit_error(error)) out.events.emplace_back(LimitReached{.text = text, .resets_at = std::nullopt});
  end_turn(is_deferred_ ? TurnEnd::deferred : TurnEnd::failed, text, out);
}

void AcpProtocol::end_turn(TurnEnd end, std::string text, AgentReaction& out) {
  text_.finish(out.events);
  static_cast<void>(text_.take_last());
  questions_.withdraw_all(out.events);
  std::vector<std::string> refused = calls_.end_turn(out.events);
  out.events.emplace_back(TurnOver{.end = end, .text = std::move(text), .refused = std::move(refused)});
  phase_ = Phase::over;
  const bool goes_on = prompt_ && end != TurnEnd::deferred && !session_.empty();
  if (goes_on) return start_turn(*std::exchange(prompt_, std::nullopt), out);
  out.closes_input = true;
}

AgentReaction AcpProtocol::answer(std::uint64_t ticket, const CallAnswer& answer) {
  AgentReaction out;
  if (phase_ == Phase::faulted) return out;
  const auto question = questions_.take(ticket);
  if (!question) return out;
  if (answer.verdict == CallVerdict::defer) {
    is_deferred_ = true;
    cancel(out);
    deny(*question, out);
    return out;
  }
  // Without an option for this call alone a yes would also be one for later calls.
  const bool is_allowed = answer.verdict == CallVerdict::allow && question->detail.once.has_value();
  if (!is_allowed) {
    deny(*question, out);
  } else {
    out.lines.push_back(rpc_.respond(question->id, make_selected(*question->detail.once)));
  }
  return out;
}

// The protocol has no room for a reason. Of a cancelled turn, every open request is answered as cancelled.
void AcpProtocol::deny(const Questions::Question& question, AgentReaction& out) {
  if (!question.call.empty()) calls_.deny(question.call);
  const std::optional<std::string>& reject = question.detail.reject;
  out.lines.push_back(rpc_.respond(question.id, reject && !is_cancelled_ ? make_selected(*reject) : make_cancelled()));
}

AgentReaction AcpProtocol::interrupt() {
  AgentReaction out;
  if (phase_ == Phase::faulted || phase_ == Phase::over) return out;
  prompt_.reset();
  if (phase_ == Phase::running) {
    cancel(out);
  } else {
    end_turn(TurnEnd::interrupted, {}, out);
  }
  return out;
}

void AcpProtocol::cancel(AgentReaction& out) {
  is_cancelled_ = true;
  out.lines.push_back(rpc_.notify("session/cancel", session_params()));
  for (const Questions::Question& question : questions_.withdraw_all(out.events)) deny(question, out);
}

AgentReaction AcpProtocol::say(std::string_view prompt) {
  AgentReaction out;
  if (phase_ == Phase::faulted) return out;
  const bool can_start = !session_.empty() && (phase_ == Phase::idle || phase_ == Phase::over);
  if (can_start) {
    start_turn(prompt, out);
  } else {
    prompt_ = std::string(prompt);
  }
  return out;
}

void AcpProtocol::send(std::string_view method, Value params, AgentReaction& out) {
  out.lines.push_back(rpc_.request(method, std::move(params)));
}

void AcpProtocol::fault(ProtocolFault fault, AgentReaction& out) {
  phase_ = Phase::faulted;
  fault.reason = event_text(fault.reason);
  out.events.emplace_back(std::move(fault));
}

}  // namespace

std::unique_ptr<AgentProtocol> make_acp_protocol(const AgentSetup& setup) {
  return std::make_unique<AcpProtocol>(setup);
}

}  // namespace reeve::agents
