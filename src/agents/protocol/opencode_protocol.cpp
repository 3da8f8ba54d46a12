#include "agents/protocol/opencode_protocol.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "agents/protocol/agent_message.h"
#include "agents/protocol/opencode_calls.h"
#include "agents/protocol/opencode_command.h"
#include "agents/protocol/opencode_requests.h"
#include "agents/protocol/opencode_sessions.h"
#include "agents/protocol/opencode_turn.h"
#include "agents/protocol/opencode_usage.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_lines = 1000;
constexpr std::size_t max_requests = 10'000;
// For a resumed session without a prompt: opencode makes no call by itself.
constexpr std::string_view resume_prompt =
    "Continue with the task. If a tool call was interrupted and is still needed, make it again.";

class OpencodeProtocol final : public AgentProtocol {
 public:
  explicit OpencodeProtocol(const AgentSetup& setup)
      : prompt_(setup.prompt.empty() && setup.resumes ? std::string(resume_prompt) : setup.prompt),
        model_(setup.model),
        resumes_(setup.resumes) {
    if (resumes_) sessions_.set_main(setup.session);
  }

  AgentReaction begin() override { return {}; }
  AgentReaction on_line(std::string_view line) override;
  AgentReaction answer(std::uint64_t ticket, const CallAnswer& answer) override;
  AgentReaction interrupt() override;
  AgentReaction say(std::string_view prompt) override;

  ReleaseWay release_way() const override { return ReleaseWay::end; }
  GateReach reach() const override { return GateReach::asks; }
  bool may_release(std::string_view call) const override { return calls_.may_release(call); }

  std::string server_address() const override { return address_; }
  AgentReaction on_event(std::string_view data) override;
  AgentReaction on_response(std::uint64_t number, int status, std::string_view body) override;

 private:
  enum class Stage { starting, opening, ready };
  // The purpose of a request.
  enum class Purpose { open, check, rule, prompt, reply, other };

  void fail(AgentReaction& reaction, std::string reason, bool is_ungated = false);
  void send(AgentReaction& reaction, Purpose purpose, std::string_view method, std::string target, const Value& body);
  void open_session(AgentReaction& reaction);
  void on_session(AgentReaction& reaction, const Value& session, bool is_new);
  void send_prompt(AgentReaction& reaction);
  void reply(AgentReaction& reaction, const std::string& request, const Value& body);
  void end_turn(AgentReaction& reaction);
  void note_session(AgentReaction& reaction);

  void on_connected(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_session_created(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_session_status(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_session_idle(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_session_error(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_message(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_part(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_permission_asked(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_permission_replied(AgentReaction& reaction, const Value& properties, std::size_t bytes);
  void on_question(AgentReaction& reaction, const Value& properties, std::size_t bytes);

  void add(AgentReaction& reaction, std::vector<AgentEvent> events);

  // Not sent yet.
  std::optional<std::string> prompt_;
  std::optional<std::string> model_;
  bool resumes_;

  std::string address_;
  std::size_t lines_ = 0;
  Stage stage_ = Stage::starting;
  bool is_dead_ = false;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Purpose> open_;
  SessionOpened described_;
  OpencodeSessions sessions_;
  OpencodeTurn turn_;
  OpencodeCalls calls_;
  OpencodeUsage usage_;
};

void OpencodeProtocol::fail(AgentReaction& reaction, std::string reason, bool is_ungated) {
  is_dead_ = true;
  reaction.events.emplace_back(ProtocolFault{std::move(reason), is_ungated});
}

void OpencodeProtocol::add(AgentReaction& reaction, std::vector<AgentEvent> events) {
  for (AgentEvent& event : events) {
    is_dead_ = is_dead_ || std::holds_alternative<ProtocolFault>(event);
    reaction.events.push_back(std::move(event));
  }
}

void OpencodeProtocol::send(AgentReaction& reaction, Purpose purpose, std::string_view method, std::string target,
                            const Value& body) {
  if (open_.size() >= max_requests) {
    fail(reaction, "opencode does not answer requests");
    return;
  }
  open_[++last_number_] = purpose;
  reaction.requests.push_back({.number = last_number_,
                               .method = std::string(method),
                               .target = std::move(target),
                               .body = body.is_null() ? std::string() : json::encode(body)});
}

// --- Its output ---

AgentReaction OpencodeProtocol::on_line(std::string_view line) {
  AgentReaction reaction;
  if (is_dead_ || !address_.empty()) return reaction;
  const std::size_t begin = line.find("http://");
  if (begin == std::string_view::npos) {
    if (++lines_ > max_lines) fail(reaction, "opencode did not print the address of its server");
    return reaction;
  }
  if (const auto address = parse_loopback_address(line.substr(begin))) {
    address_ = *address;
  } else {
    fail(reaction, fmt::format("opencode serves at {}, which is not a loopback address with a port",
                               base::quoted(base::truncate_utf8(line.substr(begin), 200))));
  }
  return reaction;
}

// --- The session ---

void OpencodeProtocol::open_session(AgentReaction& reaction) {
  stage_ = Stage::opening;
  if (resumes_) {
    send(reaction, Purpose::check, "GET", make_opencode_target("session", sessions_.main()), {});
    return;
  }
  // A session without a title makes opencode ask a model for one.
  send(reaction, Purpose::open, "POST", "/session",
       Value::object({{"title", Value::string("Reeve")}, {"permission", make_opencode_rules()}}));
}

void OpencodeProtocol::on_session(AgentReaction& reaction, const Value& session, bool is_new) {
  const auto id = path_id_of(session, "id");
  if (!id || (!is_new && *id != sessions_.main())) {
    fail(reaction, "opencode did not describe the session that was asked for");
    return;
  }
  sessions_.set_main(*id);
  // A session keeps the version that it was created with.
  if (is_new) described_.version = name_of(session, "version");
  note_session(reaction);
  if (has_opencode_rules(session)) {
    send_prompt(reaction);
    return;
  }
  send(reaction, Purpose::rule, "PATCH", make_opencode_target("session", sessions_.main()),
       Value::object({{"permission", make_opencode_rules()}}));
}

void OpencodeProtocol::note_session(AgentReaction& reaction) {
  described_.session = sessions_.main();
  reaction.events.emplace_back(described_);
}

void OpencodeProtocol::send_prompt(AgentReaction& reaction) {
  stage_ = Stage::ready;
  if (!prompt_) return;
  const Value body = make_opencode_prompt(*std::exchange(prompt_, std::nullopt), model_);
  turn_.begin();
  calls_.begin_turn();
  send(reaction, Purpose::prompt, "POST", make_opencode_target("session", sessions_.main(), "prompt_async"), body);
}

AgentReaction OpencodeProtocol::say(std::string_view prompt) {
  AgentReaction reaction;
  if (is_dead_) return reaction;
  prompt_ = std::string(prompt);
  if (stage_ == Stage::ready) send_prompt(reaction);
  return reaction;
}

AgentReaction OpencodeProtocol::interrupt() {
  AgentReaction reaction;
  if (is_dead_) return reaction;
  if (stage_ == Stage::ready) {
    turn_.interrupt();
    calls_.interrupt();
    send(reaction, Purpose::other, "POST", make_opencode_target("session", sessions_.main(), "abort"), {});
  } else if (prompt_) {
    prompt_.reset();
    reaction.events.emplace_back(TurnOver{TurnEnd::interrupted, {}, {}});
  }
  return reaction;
}

void OpencodeProtocol::end_turn(AgentReaction& reaction) { add(reaction, turn_.end(calls_.take_refused())); }

// --- Permissions ---

AgentReaction OpencodeProtocol::answer(std::uint64_t ticket, const CallAnswer& answer) {
  AgentReaction reaction;
  if (is_dead_) return reaction;
  // opencode has no way to defer a call: anything but a yes is a no.
  const bool is_allowed = answer.verdict == CallVerdict::allow;
  const auto id = calls_.answer(ticket, is_allowed);
  if (id) reply(reaction, *id, is_allowed ? make_opencode_approval() : make_opencode_refusal(answer.reason));
  return reaction;
}

void OpencodeProtocol::reply(AgentReaction& reaction, const std::string& request, const Value& body) {
  send(reaction, Purpose::reply, "POST", make_opencode_target("permission", request, "reply"), body);
}

void OpencodeProtocol::on_permission_asked(AgentReaction& reaction, const Value& properties, std::size_t) {
  OpencodeCalls::Asked asked =
      calls_.on_asked(properties, !sessions_.is_ours(properties), sessions_.parent_of(properties));
  add(reaction, std::move(asked.events));
  if (asked.refused) reply(reaction, *asked.refused, make_opencode_refusal(asked.reason));
}

void OpencodeProtocol::on_permission_replied(AgentReaction& reaction, const Value& properties, std::size_t) {
  add(reaction, calls_.on_replied(properties, !sessions_.is_ours(properties)));
}

void OpencodeProtocol::on_question(AgentReaction& reaction, const Value& properties, std::size_t) {
  if (const auto id = path_id_of(properties, "id")) {
    send(reaction, Purpose::other, "POST", make_opencode_target("question", *id, "reject"), {});
  }
}

// --- Events ---

AgentReaction OpencodeProtocol::on_event(std::string_view data) {
  using Handler = void (OpencodeProtocol::*)(AgentReaction&, const Value&, std::size_t);
  static constexpr auto handlers = std::to_array<std::pair<std::string_view, Handler>>(
      {{"server.connected", &OpencodeProtocol::on_connected},
       {"session.created", &OpencodeProtocol::on_session_created},
       {"session.status", &OpencodeProtocol::on_session_status},
       {"session.idle", &OpencodeProtocol::on_session_idle},
       {"session.error", &OpencodeProtocol::on_session_error},
       {"message.updated", &OpencodeProtocol::on_message},
       {"message.part.updated", &OpencodeProtocol::on_part},
       {"permission.asked", &OpencodeProtocol::on_permission_asked},
       {"permission.replied", &OpencodeProtocol::on_permission_replied},
       {"question.asked", &OpencodeProtocol::on_question}});
  AgentReaction reaction;
  if (is_dead_) return reaction;
  const auto event = parse_message(data);
  if (!event || event->as_object() == nullptr) {
    // It could have been a request for permission, or a call that nobody was asked about.
    fail(reaction, "an event of opencode is not JSON, or is too large or too deep");
    return reaction;
  }
  const std::string type = json::text_of(*event, "type");
  for (const auto& [name, handler] : handlers) {
    if (name == type) (this->*handler)(reaction, member_of(*event, "properties"), data.size());
  }
  return reaction;
}

void OpencodeProtocol::on_connected(AgentReaction& reaction, const Value&, std::size_t) {
  if (stage_ == Stage::starting) {
    open_session(reaction);
  } else {
    fail(reaction, "the event stream of opencode was interrupted");
  }
}

void OpencodeProtocol::on_session_created(AgentReaction&, const Value& properties, std::size_t) {
  sessions_.on_created(member_of(properties, "info"));
}

void OpencodeProtocol::on_session_status(AgentReaction& reaction, const Value& properties, std::size_t) {
  if (!sessions_.is_main(properties)) return;
  const Value& status = member_of(properties, "status");
  const std::string type = json::text_of(status, "type");
  if (type == "idle") {
    end_turn(reaction);
  } else if (type == "retry") {
    const auto attempt = static_cast<int>(std::min<std::int64_t>(count_of(status, "attempt"), 1'000'000));
    reaction.events.emplace_back(RetryNoted{attempt, bounded_text(json::text_of(status, "message"))});
  }
}

void OpencodeProtocol::on_session_idle(AgentReaction& reaction, const Value& properties, std::size_t) {
  if (sessions_.is_main(properties)) end_turn(reaction);
}

void OpencodeProtocol::on_session_error(AgentReaction& reaction, const Value& properties, std::size_t) {
  const bool is_of_server = member_of(properties, "sessionID").is_null();
  if (!is_of_server && !sessions_.is_main(properties)) return;
  OpencodeTurn::Error error = turn_.on_error(member_of(properties, "error"), is_of_server);
  add(reaction, std::move(error.events));
  if (error.ends_turn) end_turn(reaction);
}

void OpencodeProtocol::on_message(AgentReaction& reaction, const Value& properties, std::size_t) {
  const Value& info = member_of(properties, "info");
  if (json::text_of(info, "role") != "assistant" || !sessions_.is_ours(info)) return;
  const bool is_main = sessions_.is_main(info);
  if (is_main) {
    turn_.on_message(info);
    const auto provider = name_of(info, "providerID");
    const auto model = name_of(info, "modelID");
    if (provider && model) {
      const std::string full = *provider + "/" + *model;
      if (std::exchange(described_.model, full) != full) note_session(reaction);
    }
  }
  if (auto totals = usage_.on_message(info, is_main)) reaction.events.emplace_back(std::move(*totals));
}

void OpencodeProtocol::on_part(AgentReaction& reaction, const Value& properties, std::size_t bytes) {
  const Value& part = member_of(properties, "part");
  const std::string type = json::text_of(part, "type");
  if (type == "tool") {
    sessions_.on_part(part);
    add(reaction, calls_.on_part(part, bytes, sessions_.parent_of(part)));
  } else if (type == "text" && sessions_.is_main(part)) {
    add(reaction, turn_.on_text(part));
  }
}

// --- Responses ---

AgentReaction OpencodeProtocol::on_response(std::uint64_t number, int status, std::string_view body) {
  AgentReaction reaction;
  const auto found = open_.find(number);
  if (is_dead_ || found == open_.end()) return reaction;
  const Purpose purpose = found->second;
  open_.erase(found);
  const bool is_ok = status >= 200 && status < 300;
  const Value answer = parse_message(body).value_or(Value());
  const auto reason = [&](std::string_view what) {
    const bool is_described = answer.find("name") != nullptr || answer.find("data") != nullptr;
    return fmt::format("{} (HTTP {}{})", what, status, is_described ? ", " + describe_opencode_error(answer) : "");
  };
  switch (purpose) {
    case Purpose::open:
    case Purpose::check:
      if (is_ok) {
        on_session(reaction, answer, purpose == Purpose::open);
      } else if (purpose == Purpose::check && status == 404) {
        fail(reaction, fmt::format("opencode no longer has the session {}", base::quoted(sessions_.main())));
      } else {
        fail(reaction, reason("opencode did not open a session"));
      }
      break;
    case Purpose::rule:
      if (is_ok) {
        send_prompt(reaction);
      } else {
        fail(reaction, reason("opencode did not take the rule to ask about every call"), true);
      }
      break;
    case Purpose::prompt:
      if (!is_ok) {
        turn_.on_failure(reason("opencode did not take the prompt"));
        end_turn(reaction);
      }
      break;
    case Purpose::reply:
      // 404: the request is gone, because the turn was interrupted or another call of the session was refused.
      if (!is_ok && status != 404) fail(reaction, reason("opencode did not take the answer to a request"));
      break;
    case Purpose::other:
      break;
  }
  return reaction;
}

}  // namespace

std::unique_ptr<AgentProtocol> make_opencode_protocol(const AgentSetup& setup) {
  return std::make_unique<OpencodeProtocol>(setup);
}

}  // namespace reeve::agents
