#include "agents/protocol/codex_protocol.h"

#include <utility>

#include <fmt/format.h>

#include "agents/protocol/codex_calls.h"
#include "agents/protocol/codex_items.h"
#include "agents/protocol/codex_limits.h"
#include "agents/protocol/codex_session.h"
#include "agents/protocol/first_prompt.h"
#include "agents/protocol/json_members.h"
#include "agents/protocol/json_rpc.h"
#include "agents/protocol/open_questions.h"
#include "base/text.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_told = 200;

class CodexProtocol final : public AgentProtocol {
 public:
  explicit CodexProtocol(const AgentSetup& setup) : setup_(setup), prompt_(make_first_prompt(setup)) {}

  AgentReaction begin() override;
  AgentReaction on_line(std::string_view line) override;
  AgentReaction answer(std::uint64_t ticket, const CallAnswer& answer) override;
  AgentReaction interrupt() override;
  AgentReaction say(std::string_view prompt) override;

  ReleaseWay release_way() const override { return ReleaseWay::interrupt; }
  GateReach reach() const override { return GateReach::gated; }
  bool may_release(std::string_view call) const override { return questions_.is_only(call); }

 private:
  enum class Phase { opening, idle, running, over, faulted };
  // For a reason that the model is to read.
  struct Sender {
    std::string thread;
    std::string turn;
    // The call, in words for the model.
    std::string subject;
  };
  using Questions = OpenQuestions<Sender>;

  void on_request(const RpcRequest& request, AgentReaction& out);
  void on_notification(const RpcNotification& message, AgentReaction& out);
  void on_answer(const RpcAnswer& answer, AgentReaction& out);
  void on_turn_message(const RpcNotification& message, AgentReaction& out);
  void on_item(const RpcNotification& message, AgentReaction& out);
  void on_turn_completed(const Value& turn, AgentReaction& out);
  void on_hello(const Value& hello, AgentReaction& out);
  void on_config(const RpcAnswer& answer, AgentReaction& out);
  void on_thread(const Value& result, AgentReaction& out);

  void ask(const RpcRequest& request, const CodexQuestion& question, AgentReaction& out);
  void tell_why(const Sender& sender, const std::string& reason, AgentReaction& out);
  void start_turn(std::string_view prompt, AgentReaction& out);
  void end_turn(TurnEnd end, std::string text, AgentReaction& out);
  void send_interrupt(AgentReaction& out);
  void send(std::string_view method, Value params, AgentReaction& out);
  void fault(ProtocolFault fault, AgentReaction& out);
  void fault_if(std::optional<ProtocolFault> found, AgentReaction& out);

  bool is_own(const Value& params) const {
    const Value& thread = member_of(params, "threadId");
    return thread.is_null() || (thread.as_string() != nullptr && *thread.as_string() == thread_);
  }

  AgentSetup setup_;
  RpcClient rpc_{RpcVersion::left_out};
  Phase phase_ = Phase::opening;
  std::optional<std::string> version_;
  std::string thread_;
  std::string turn_;
  // For the next turn.
  std::optional<std::string> prompt_;
  bool wants_interrupt_ = false;
  bool is_deferred_ = false;
  std::string final_text_;
  std::size_t line_bytes_ = 0;
  Questions questions_;
  CodexCalls calls_;
  CodexLimits limits_;
  CodexFailures failures_;
};

AgentReaction CodexProtocol::begin() {
  AgentReaction out;
  send("initialize", make_codex_hello(), out);
  return out;
}

AgentReaction CodexProtocol::on_line(std::string_view line) {
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

void CodexProtocol::on_request(const RpcRequest& request, AgentReaction& out) {
  if (questions_.withdraw(request.id, out.events)) {
    // No answer could reach only one of the two.
    out.lines.push_back(rpc_.refuse(request.id, rpc_invalid_request, "a request with this id is open"));
    return;
  }
  std::optional<CodexQuestion> question;
  const Value& known = calls_.find_arguments(id_text_of(request.params, "itemId"));
  if (request.method == codex_command_request) question = read_command_question(request.params, known);
  if (request.method == codex_change_request) question = read_change_question(request.params, known);
  const bool can_ask = phase_ == Phase::running && !wants_interrupt_ && !questions_.is_full();
  if (question && can_ask) return ask(request, *question, out);
  if (auto refusal = find_codex_refusal(request.method)) {
    out.lines.push_back(rpc_.respond(request.id, std::move(*refusal)));
  } else {
    out.lines.push_back(rpc_.refuse(request.id, rpc_method_not_found, "Reeve does not answer this request"));
  }
}

void CodexProtocol::ask(const RpcRequest& request, const CodexQuestion& question, AgentReaction& out) {
  const CodexCall& call = question.call;
  if (auto wrong = calls_.announce(call, line_bytes_, out.events)) return fault(std::move(*wrong), out);
  const std::string command = json::text_of(call.arguments, "command");
  Sender sender{
      .thread = id_text_of(request.params, "threadId"),
      .turn = id_text_of(request.params, "turnId"),
      .subject = command.empty() ? "the change of files" : base::quoted(base::truncate_utf8(command, max_told))};
  const std::uint64_t ticket = questions_.add({.id = request.id, .call = call.call, .detail = std::move(sender)});
  out.events.emplace_back(CallAsked{.ticket = ticket,
                                    .call = call.call,
                                    .tool = call.tool,
                                    .arguments = call.arguments,
                                    .cwd = question.cwd.value_or(setup_.folder)});
}

void CodexProtocol::on_notification(const RpcNotification& message, AgentReaction& out) {
  const Value& params = message.params;
  if (message.method == "serverRequest/resolved") {
    const auto question = questions_.withdraw(member_of(params, "requestId"), out.events);
    if (question) out.events.emplace_back(AnsweredElsewhere{question->call});
    return;
  }
  if (message.method == "error") return failures_.on_error(params, limits_, out.events);
  if (message.method.starts_with("item/")) return on_item(message, out);
  if (message.method == "account/rateLimits/updated") {
    for (LimitWindow& window : limits_.update(member_of(params, "rateLimits"))) {
      out.events.emplace_back(std::move(window));
    }
    return;
  }
  // Threads of subagents have turns, tokens and settings of their own.
  if (!thread_.empty() && is_own(params)) on_turn_message(message, out);
}

void CodexProtocol::on_turn_message(const RpcNotification& message, AgentReaction& out) {
  const Value& params = message.params;
  if (message.method == "turn/started" && phase_ == Phase::running && turn_.empty()) {
    turn_ = id_text_of(member_of(params, "turn"), "id");
    if (wants_interrupt_) send_interrupt(out);
  } else if (message.method == "turn/completed") {
    on_turn_completed(member_of(params, "turn"), out);
  } else if (message.method == "thread/tokenUsage/updated") {
    if (auto totals = find_codex_usage(member_of(params, "tokenUsage"))) out.events.emplace_back(*totals);
  } else if (message.method == "thread/settings/updated") {
    fault_if(find_codex_fault(setup_, member_of(params, "threadSettings"), "sandboxPolicy"), out);
  } else if (message.method == "model/rerouted") {
    const std::string model = id_text_of(params, "toModel");
    if (!model.empty()) {
      out.events.emplace_back(SessionOpened{.session = thread_, .version = version_, .model = model});
    }
  }
}

void CodexProtocol::on_item(const RpcNotification& message, AgentReaction& out) {
  const Value& params = message.params;
  const Value& item = member_of(params, "item");
  if (message.method == "item/started") {
    failures_.on_progress();
    fault_if(calls_.start(item, line_bytes_, out.events), out);
  } else if (message.method == "item/completed" && json::text_of(item, "type") == "agentMessage") {
    const std::string text = event_text(json::text_of(item, "text"));
    if (text.empty()) return;
    if (is_own(params)) final_text_ = text;
    out.events.emplace_back(TextSaid{text});
  } else if (message.method == "item/completed") {
    fault_if(calls_.complete(item, line_bytes_, out.events), out);
  } else if (message.method == "item/fileChange/patchUpdated") {
    const std::string call = id_text_of(params, "itemId");
    fault_if(calls_.change(params, questions_.has_call(call), line_bytes_), out);
  } else if (message.method == "item/commandExecution/terminalInteraction") {
    calls_.type(params, out.events);
  } else if (message.method.starts_with("item/autoApprovalReview/")) {
    out.events.emplace_back(AnsweredElsewhere{id_text_of(params, "targetItemId")});
  }
}

void CodexProtocol::on_turn_completed(const Value& turn, AgentReaction& out) {
  const std::string id = id_text_of(turn, "id");
  if (phase_ != Phase::running || (!turn_.empty() && id != turn_)) return;
  const std::string status = json::text_of(turn, "status");
  if (status == "completed") return end_turn(TurnEnd::completed, final_text_, out);
  if (status == "interrupted") return end_turn(is_deferred_ ? TurnEnd::deferred : TurnEnd::interrupted, {}, out);
  const Value& error = member_of(turn, "error");
  failures_.on_failed_turn(error, limits_, out.events);
  end_turn(TurnEnd::failed, codex_error_text(error), out);
}

void CodexProtocol::on_answer(const RpcAnswer& answer, AgentReaction& out) {
  if (phase_ == Phase::over) return;
  if (answer.method == "config/read") return on_config(answer, out);
  if (answer.method == "turn/start") {
    if (answer.error) return end_turn(TurnEnd::failed, event_text(answer.error->message), out);
    if (phase_ != Phase::running || !turn_.empty()) return;
    turn_ = id_text_of(member_of(answer.result, "turn"), "id");
    if (wants_interrupt_) send_interrupt(out);
    return;
  }
  const bool opens = answer.method == "initialize" || answer.method.starts_with("thread/");
  if (!opens) return;
  if (answer.error) {
    return fault({.reason = fmt::format("Codex refused `{}`: {}", answer.method, answer.error->message)}, out);
  }
  if (answer.method == "initialize") return on_hello(answer.result, out);
  on_thread(answer.result, out);
}

void CodexProtocol::on_hello(const Value& hello, AgentReaction& out) {
  version_ = find_codex_version(hello);
  out.lines.push_back(rpc_.notify("initialized"));
  send("config/read", Value::object({{"includeLayers", Value::boolean(true)}, {"cwd", Value::string(setup_.folder)}}),
       out);
}

void CodexProtocol::on_config(const RpcAnswer& answer, AgentReaction& out) {
  // A version without this request cannot be asked which settings are in force; those of its command line are.
  const bool is_unknown =
      answer.error && (answer.error->code == rpc_method_not_found || answer.error->message.contains("unknown variant"));
  if (answer.error && !is_unknown) {
    return fault({.reason = fmt::format("Codex cannot read its settings: {}", answer.error->message)}, out);
  }
  auto servers = read_codex_servers(answer.result);
  if (!servers) return fault(std::move(servers.error()), out);
  send(setup_.resumes ? "thread/resume" : "thread/start", make_codex_thread(setup_, *servers), out);
}

void CodexProtocol::on_thread(const Value& result, AgentReaction& out) {
  if (auto wrong = find_codex_fault(setup_, result, "sandbox")) return fault(std::move(*wrong), out);
  const Value& thread = member_of(result, "thread");
  thread_ = id_text_of(thread, "id");
  if (thread_.empty()) return fault({.reason = "Codex opened a thread without an id"}, out);
  if (setup_.resumes && thread_ != setup_.session) {
    return fault({.reason = "Codex resumed another thread than the one it was asked for"}, out);
  }
  if (!version_) {
    const std::string version = id_text_of(thread, "cliVersion");
    if (!version.empty()) version_ = version;
  }
  const std::string model = id_text_of(result, "model");
  out.events.emplace_back(SessionOpened{
      .session = thread_, .version = version_, .model = model.empty() ? std::nullopt : std::optional(model)});
  phase_ = Phase::idle;
  if (prompt_) start_turn(*std::exchange(prompt_, std::nullopt), out);
}

void CodexProtocol::start_turn(std::string_view prompt, AgentReaction& out) {
  phase_ = Phase::running;
  turn_.clear();
  final_text_.clear();
  wants_interrupt_ = false;
  is_deferred_ = false;
  failures_ = {};
  send("turn/start", Value::object({{"threadId", Value::string(thread_)}, {"input", make_codex_input(prompt)}}), out);
}

void CodexProtocol::end_turn(TurnEnd end, std::string text, AgentReaction& out) {
  if (phase_ != Phase::running) return;
  questions_.withdraw_all(out.events);
  out.events.emplace_back(TurnOver{.end = end, .text = std::move(text), .refused = calls_.take_refused()});
  phase_ = Phase::over;
  if (prompt_ && end != TurnEnd::deferred) return start_turn(*std::exchange(prompt_, std::nullopt), out);
  out.closes_input = true;
}

AgentReaction CodexProtocol::answer(std::uint64_t ticket, const CallAnswer& answer) {
  AgentReaction out;
  if (phase_ == Phase::faulted) return out;
  const auto question = questions_.take(ticket);
  if (!question) return out;
  if (answer.verdict == CallVerdict::defer) {
    // The request stays without an answer: an interrupted turn forgets it and the call (measured).
    is_deferred_ = true;
    questions_.withdraw_all(out.events);
    send_interrupt(out);
    return out;
  }
  const bool is_allowed = answer.verdict == CallVerdict::allow;
  out.lines.push_back(rpc_.respond(question->id, make_codex_decision(is_allowed)));
  if (!is_allowed) tell_why(question->detail, answer.reason, out);
  return out;
}

// A decision has no room for a reason. A message into the running turn comes to the model right behind the refusal
// (measured with 0.166, although only documented as a way to add input).
void CodexProtocol::tell_why(const Sender& sender, const std::string& reason, AgentReaction& out) {
  if (reason.empty() || sender.thread.empty() || sender.turn.empty()) return;
  const std::string text = event_text(fmt::format("Not allowed: {}. Reason: {}", sender.subject, reason));
  send("turn/steer",
       Value::object({{"threadId", Value::string(sender.thread)},
                      {"expectedTurnId", Value::string(sender.turn)},
                      {"input", make_codex_input(text)}}),
       out);
}

AgentReaction CodexProtocol::interrupt() {
  AgentReaction out;
  if (phase_ == Phase::faulted || phase_ == Phase::over) return out;
  prompt_.reset();
  if (phase_ == Phase::running) {
    questions_.withdraw_all(out.events);
    send_interrupt(out);
    return out;
  }
  phase_ = Phase::over;
  out.events.emplace_back(TurnOver{.end = TurnEnd::interrupted, .text = {}, .refused = {}});
  out.closes_input = true;
  return out;
}

AgentReaction CodexProtocol::say(std::string_view prompt) {
  AgentReaction out;
  if (phase_ == Phase::faulted) return out;
  const bool can_start = phase_ == Phase::idle || (phase_ == Phase::over && !thread_.empty());
  if (can_start) {
    start_turn(prompt, out);
  } else {
    prompt_ = std::string(prompt);
  }
  return out;
}

void CodexProtocol::send_interrupt(AgentReaction& out) {
  // Without the turn's id there is nothing to interrupt yet.
  wants_interrupt_ = true;
  if (turn_.empty()) return;
  send("turn/interrupt", Value::object({{"threadId", Value::string(thread_)}, {"turnId", Value::string(turn_)}}), out);
}

void CodexProtocol::send(std::string_view method, Value params, AgentReaction& out) {
  out.lines.push_back(rpc_.request(method, std::move(params)));
}

void CodexProtocol::fault(ProtocolFault fault, AgentReaction& out) {
  phase_ = Phase::faulted;
  fault.reason = event_text(fault.reason);
  out.events.emplace_back(std::move(fault));
}

void CodexProtocol::fault_if(std::optional<ProtocolFault> found, AgentReaction& out) {
  if (found) fault(std::move(*found), out);
}

}  // namespace

std::unique_ptr<AgentProtocol> make_codex_protocol(const AgentSetup& setup) {
  return std::make_unique<CodexProtocol>(setup);
}

}  // namespace reeve::agents
