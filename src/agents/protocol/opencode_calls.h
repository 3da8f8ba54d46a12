#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/recent.h"
#include "base/value.h"

namespace reeve::agents {

// The tool calls of an opencode server and its requests for permission, in all of its sessions.
class OpencodeCalls {
 public:
  // A part of type `tool`. `bytes`: of its event. `parent`: the call that started the part's session.
  std::vector<AgentEvent> on_part(const base::Value& part, std::size_t bytes, const std::optional<std::string>& parent);

  // A request for permission that nobody else may answer.
  struct Asked {
    std::vector<AgentEvent> events;
    // The id of a request that is refused at once, and why.
    std::optional<std::string> refused;
    std::string_view reason;
  };
  // `is_foreign`: of a session that this run did not start.
  Asked on_asked(const base::Value& request, bool is_foreign, const std::optional<std::string>& parent);
  // The id of the request to answer; none if the ticket is not open.
  std::optional<std::string> answer(std::uint64_t ticket, bool is_allowed);
  // The server says that a request was answered. `is_foreign` as above.
  std::vector<AgentEvent> on_replied(const base::Value& reply, bool is_foreign);
  // Afterwards the server refuses the open requests by itself.
  void interrupt() noexcept { is_interrupted_ = true; }
  void begin_turn() { is_interrupted_ = false; }

  // Whether this call is the only one that the agent is working on, and waits for an answer.
  bool may_release(std::string_view call) const;
  // Calls that were refused since the last time this was asked.
  std::vector<std::string> take_refused();

 private:
  struct Call {
    // As reported: the agent's id, with its message if an earlier call had the same one.
    std::string id;
    std::string tool;
    base::Value input;
    bool has_input = false;
    bool is_announced = false;
    bool was_allowed = false;
    bool was_rejected = false;
    std::size_t bytes = 0;
  };
  struct Request {
    std::uint64_t ticket = 0;
    // As reported.
    std::string call;
    // Of `calls_`.
    std::string key;
    std::string session;
    // About the call itself, not a further question about it.
    bool is_own = true;
  };
  // By the adapter.
  struct Answered {
    bool is_allowed = false;
    Request request;
  };

  // Null if too many calls are open; `events` then has the fault.
  Call* open_call(const std::string& key, const std::string& id, const base::Value& part,
                  std::vector<AgentEvent>& events);
  bool take_input(Call& call, const base::Value& state, std::size_t bytes, std::vector<AgentEvent>& events);
  void end_call(const std::string& key, const base::Value& state, std::vector<AgentEvent>& events);
  std::string report_id(const std::string& key, const std::string& id, std::string_view message);
  void note_refused(const std::string& call);
  void reject_call(const std::string& key);
  // The server refuses requests by itself: all of a session after one was refused, and all after an interruption.
  bool is_refused_by_server(const Request& request) const;
  Request make_request(const base::Value& request, CallAsked& asked);

  // Not ended; by message and id.
  std::map<std::string, Call, std::less<>> calls_;
  // Not answered; by the server's id.
  std::map<std::string, Request, std::less<>> requests_;
  Recent<Answered> answered_{4096};
  // Keys of calls that have ended; keys of calls by reported id.
  Recent<bool> ended_{4096};
  Recent<std::string> reported_{8192};
  std::vector<std::string> refused_;
  // Of events whose arguments are kept.
  std::size_t kept_bytes_ = 0;
  std::uint64_t last_ticket_ = 0;
  bool is_interrupted_ = false;
};

}  // namespace reeve::agents
