#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>

#include "client/run_socket.h"
#include "wire/tool_call.h"

// The socket on which the adapter of an agent answers the agent's hooks (REEVE_AGENT_SOCKET). One connection is one
// question: a line with a wire::CallRequest, then a line with a wire::HookReply.
namespace reeve::client {

inline constexpr std::size_t max_hook_request = 16UZ * 1024 * 1024;
inline constexpr std::size_t max_hook_reply = 64UZ * 1024;

// Asked once: an adapter that is gone comes back only with its agent. An answer that is missing, late, malformed or not
// recognised is an error (TOOL-9), whose text says what happened.
std::expected<wire::HookReply, std::string> ask_adapter(const std::filesystem::path& socket,
                                                        const wire::CallRequest& request, const AskTerms& terms);

}  // namespace reeve::client
