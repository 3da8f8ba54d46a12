#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/value.h"
#include "wire/tool_call.h"

// An MCP server's side of the protocol, over lines of JSON-RPC: the revisions that begin with `initialize`, and the
// stateless one of 2026-07-28. Pure: it reads lines and makes lines.
namespace reeve::agents {

inline constexpr std::size_t max_mcp_line = 16UZ * 1024 * 1024;
// Requests without an answer yet.
inline constexpr std::size_t max_mcp_pending = 64;

// The only revision without `initialize`.
inline constexpr std::string_view stateless_mcp_revision = "2026-07-28";
// Whether the server speaks it.
bool is_mcp_revision(std::string_view text) noexcept;
std::vector<std::string_view> mcp_revisions();

// A request that the host has to answer with finish().
struct McpWork {
  enum class Kind { list_tools, call_tool };
  std::uint64_t ticket = 0;
  Kind kind = Kind::list_tools;
  // For `call_tool`; the arguments are an object.
  std::string tool;
  base::Value arguments;
};

// What a line leads to.
struct McpReaction {
  // To be written now, without their newlines.
  std::vector<std::string> lines;
  std::vector<McpWork> work;
  // Work that needs no answer any more.
  std::vector<std::uint64_t> cancelled;
};

struct McpToolResult {
  std::string text;
  bool is_error = false;
};

struct McpError {
  int code = 0;
  std::string message;
};
inline constexpr int mcp_invalid_params = -32602;

using McpOutcome = std::variant<std::vector<wire::HostedTool>, McpToolResult, McpError>;

class McpServer {
 public:
  // The version of the program.
  explicit McpServer(std::string version) : version_(std::move(version)) {}
  // For messages of a client that has agreed on that revision before.
  McpServer(std::string version, std::string revision) : version_(std::move(version)), revision_(std::move(revision)) {}

  McpReaction on_line(std::string_view line);
  // A line over `max_mcp_line`, of which only the beginning is known. The answer has its id if that is in there.
  static McpReaction on_long_line(std::string_view beginning);
  // The line to write; nothing if the request was cancelled, or other requests of its batch are open.
  std::optional<std::string> finish(std::uint64_t ticket, const McpOutcome& outcome);
  bool has_open() const noexcept { return !pending_.empty(); }

 private:
  // Requests that came in one array are answered in one.
  struct Batch {
    std::size_t open = 0;
    base::Value::Array answers;
  };
  struct Pending {
    base::Value id;
    bool is_stateless = false;
    std::optional<std::uint64_t> batch;
  };
  // One request: its id, its parameters, and what they declare.
  struct Request {
    base::Value id;
    std::string method;
    base::Value params;
    bool is_stateless = false;
    std::optional<std::uint64_t> batch;
  };

  void on_batch(const base::Value::Array& messages, McpReaction& reaction);
  // The answer, if it is known at once.
  std::optional<base::Value> on_message(const base::Value& message, std::optional<std::uint64_t> batch,
                                        McpReaction& reaction);
  std::optional<base::Value> on_request(const Request& request, McpReaction& reaction);
  void on_notification(std::string_view method, const base::Value& params, McpReaction& reaction);
  std::optional<base::Value> start_work(const Request& request, McpReaction& reaction);
  base::Value initialize(const Request& request);
  base::Value discover(const Request& request) const;
  base::Value server_info() const;
  bool is_open(const base::Value& id) const;
  // The line of a batch whose last answer this is.
  std::optional<std::string> add_to_batch(std::uint64_t batch, std::optional<base::Value> answer);

  std::string version_;
  // Of the protocol, once `initialize` has been answered.
  std::string revision_;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_batch_ = 0;
  std::map<std::uint64_t, Pending> pending_;
  std::map<std::uint64_t, Batch> batches_;
};

}  // namespace reeve::agents
