#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/value.h"

// What Claude Code reads on its standard input: one line each, without the newline.
namespace reeve::agents {

// The id of the request that starts the protocol.
inline constexpr std::string_view claude_initialize_id = "init";

// Without hooks: on a resume they can come too late, so the gate is in the settings file.
std::string make_claude_initialize();
std::string make_claude_interrupt(std::uint64_t number);
std::string make_claude_prompt(std::string_view prompt);

// Answers to the question whether a call may run.
std::string make_claude_allow(std::string_view request, base::Value arguments);
std::string make_claude_deny(std::string_view request, std::string_view reason);
// To a hook that Reeve did not register.
std::string make_claude_hook_denial(std::string_view request);
// To a request that Reeve does not know.
std::string make_claude_refusal(std::string_view request, std::string_view subtype);

}  // namespace reeve::agents
