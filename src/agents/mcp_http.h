#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// MCP's Streamable HTTP transport: what is not part of the messages. Pure.
namespace reeve::agents {

inline constexpr std::size_t max_mcp_body = 1UZ << 20U;

// What the headers of a POST say about the message in its body.
struct McpHead {
  // `MCP-Protocol-Version`, `Mcp-Method`, `Mcp-Name`.
  std::optional<std::string> revision = {};
  std::optional<std::string> method = {};
  std::optional<std::string> name = {};
};

// Why the body must not be performed: the JSON-RPC error to send with status 400. It is not JSON, its revision is
// unknown, or, from 2026-07-28 on, the headers do not repeat what it says: a proxy may have decided by them.
std::optional<std::string> find_http_fault(const McpHead& head, std::string_view body);
// The revision that the client has agreed on before: without a header, that of the first clients of this transport.
// Empty for stateless ones, whose messages name it.
std::string agreed_revision(const McpHead& head);
bool accepts_event_stream(std::string_view accept);
// One message as a server-sent event.
std::string make_sse_message(std::string_view message);

}  // namespace reeve::agents
