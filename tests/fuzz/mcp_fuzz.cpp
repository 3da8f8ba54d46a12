#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/mcp_http.h"
#include "agents/mcp_server.h"
#include "agents/mcp_tools.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace {

using namespace reeve;

void check_line(const std::string& line) {
  REEVE_ASSERT(line.find('\n') == std::string::npos);
  REEVE_ASSERT(json::parse(line).has_value());
}

void check_tools(const base::Value& arguments) {
  static_cast<void>(agents::parse_approve(arguments, "new"));
  static_cast<void>(agents::parse_question(arguments, "q"));
  static_cast<void>(agents::parse_outside_question(arguments, "q"));
  static_cast<void>(agents::parse_progress(arguments));
  static_cast<void>(agents::parse_outside_progress(arguments));
  static_cast<void>(agents::describe_decision(arguments));
}

}  // namespace

// Any lines to an MCP server: every answer is one line of JSON, and every request is answered at most once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto fault = agents::find_http_fault({}, input)) check_line(*fault);
  agents::McpServer server("1");
  std::vector<std::uint64_t> open;
  for (const std::string_view line : base::split(input, '\n')) {
    for (const std::string& answer : agents::McpServer::on_long_line(line).lines) check_line(answer);
    const agents::McpReaction reaction = server.on_line(line);
    for (const std::string& answer : reaction.lines) check_line(answer);
    for (const agents::McpWork& work : reaction.work) {
      if (work.kind == agents::McpWork::Kind::call_tool) check_tools(work.arguments);
      open.push_back(work.ticket);
    }
    REEVE_ASSERT(open.size() <= 1'000'000);
  }
  for (const std::uint64_t ticket : open) {
    if (const auto answer = server.finish(ticket, agents::McpToolResult{.text = std::string(input)}))
      check_line(*answer);
    REEVE_ASSERT(!server.finish(ticket, agents::McpToolResult{}));
  }
  return 0;
}
