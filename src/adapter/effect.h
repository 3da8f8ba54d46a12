#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/clock.h"
#include "base/id.h"
#include "wire/tool_call.h"

// What the driver wants done, in this order.
namespace reeve::adapter {

// For the agent's standard input, without newlines.
struct SendLines {
  std::vector<std::string> lines;
};
struct CloseInput {};
// For the agent's HTTP server.
struct OpenEvents {
  std::string address;
};
struct SendRequests {
  std::vector<agents::AgentRequest> requests;
};

// A call, by its number in the call book. Its answer comes back to the driver.
struct AskReeve {
  std::uint64_t number = 0;
  wire::CallRequest request;
  // After that long the driver may want to leave it: the wait is then cut into short requests.
  std::optional<base::Milliseconds> leave_after;
};
// The wait for its answer ends as soon as no answer can be lost by that.
struct LeaveCall {
  std::uint64_t number = 0;
};
// It ends at once.
struct DropCall {
  std::uint64_t number = 0;
};
struct WithdrawCall {
  base::CallId call{0};
};
struct AnswerHook {
  std::uint64_t connection = 0;
  wire::HookReply reply;
};

struct PrintLine {
  std::string line;
};
struct PrintError {
  std::string line;
};

struct PostSession {
  wire::SessionReport report;
};
struct PostResult {
  base::CallId call{0};
  wire::CallReport report;
};
// An event for the run, as a printed line would be (docs/EVENTS.md). An essential one is printed if it cannot be
// posted.
struct PostEvent {
  base::Value event;
  bool is_essential = false;
};

// To the agent's process group.
struct SignalAgent {
  int number = 0;
};
// SIGKILL for every process that came from the agent; returns when they are gone.
struct KillAgent {};
// Nothing is left to do but to deliver what was posted.
struct Finish {
  int code = 0;
};

using Effect =
    std::variant<SendLines, CloseInput, OpenEvents, SendRequests, AskReeve, LeaveCall, DropCall, WithdrawCall,
                 AnswerHook, PrintLine, PrintError, PostSession, PostResult, PostEvent, SignalAgent, KillAgent, Finish>;
using Effects = std::vector<Effect>;

}  // namespace reeve::adapter
