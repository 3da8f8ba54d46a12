#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "model/describe.h"
#include "wire/tool_call.h"

// What agents write to a hook, and what they read from it (TOOL-5). Pure.
namespace reeve::agents {

enum class HookDialect { claude, codex, gemini, qwen };
REEVE_DESCRIBE_ENUM(HookDialect, claude, codex, gemini, qwen)

// The agent is about to run a tool and waits for an answer.
struct GateEvent {
  // "PreToolUse": the answer names it again.
  std::string event;
  wire::CallRequest request;
};

// A tool has run.
struct ResultEvent {
  // The agent's own id of the call.
  std::string call;
  wire::CallReport report;
};

// An event that gates nothing, or the result of a call that the agent does not identify.
struct OtherEvent {
  std::string event;
};

// The input cannot be understood, so nothing may run because of it.
struct HookFault {
  std::string reason;
};

using HookInput = std::variant<GateEvent, ResultEvent, OtherEvent, HookFault>;

inline constexpr std::size_t max_hook_input = 16UZ * 1024 * 1024;

// Never throws for any bytes. `new_call` names the call if the dialect has no ids of its own.
HookInput parse_hook_input(HookDialect dialect, std::string_view bytes, std::string_view new_call);

// What the hook's process leaves behind.
struct HookAnswer {
  std::string out;
  std::string err;
  int exit_code = 0;
  friend bool operator==(const HookAnswer&, const HookAnswer&) = default;
};

// The exit code that blocks the call in every dialect.
inline constexpr int blocking_exit_code = 2;

// The call runs. `event` is that of the gate.
HookAnswer make_allow(HookDialect dialect, std::string_view event, std::string_view reason);
// The call is blocked; the agent shows the reason to its model.
HookAnswer make_deny(HookDialect dialect, std::string_view event, std::string_view reason);
// The same without knowing the event: by the exit code.
HookAnswer make_block(std::string_view reason);
// The agent ends and keeps the call for the process that resumes its session (AGT-6). Only Claude Code's gate can do
// this; elsewhere the call is blocked.
HookAnswer make_defer(HookDialect dialect, std::string_view event, std::string_view reason);
// The agent's own rules apply.
HookAnswer make_no_opinion();

}  // namespace reeve::agents
