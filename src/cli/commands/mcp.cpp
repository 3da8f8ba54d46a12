#include <atomic>
#include <csignal>
#include <string>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/connect.h"
#include "cli/gate/mcp_session.h"
#include "cli/gate/mcp_tools_host.h"
#include "cli/gate/run_context.h"
#include "os/write.h"

namespace reeve::cli {

namespace {

// For calls that are nearly done when the client closes its end.
constexpr std::chrono::seconds last_calls(1);

ExitCode run(const Call& call) {
  std::signal(SIGPIPE, SIG_IGN);
  const McpTools tools(find_run_context(), [&call] { return daemon_place(call); });
  std::atomic<bool> is_broken = false;
  McpSession session(
      REEVE_VERSION,
      [&](const agents::McpWork& work, const std::stop_token& stop) { return tools.perform(work, stop); },
      [&](std::string_view line) {
        if (!is_broken) is_broken = !os::write_all(STDOUT_FILENO, std::string(line) + "\n");
      });
  read_lines(
      STDIN_FILENO, agents::max_mcp_line, [&](std::string_view line) { session.on_line(line); },
      [&](std::string_view beginning) { session.on_long_line(beginning); });
  session.drain(last_calls);
  return is_broken ? ExitCode::reader_gone : ExitCode::done;
}

}  // namespace

Command make_mcp() {
  return {
      .name = "mcp",
      .summary = "Serve Reeve's tools to an agent over MCP",
      .about =
          R"(A Model Context Protocol server on standard input and output; agents start it from their own settings. It
speaks the revisions 2024-11-05 to 2025-11-25 and the stateless 2026-07-28.

Inside a run: `approve`, the permission prompt tool of Claude Code; `ask_person`, `report_progress` and
`read_context`; and the tools that Reeve runs itself, confined to the worktree and decided by the policy. A call
that needs a person waits for the answer; other calls continue meanwhile. A call is denied if the daemon does not
answer.

Outside a run it offers only `ask_person` and `report_progress`, through the running daemon; it starts none. Agents on
other machines use `/mcp` at the daemon's port.)",
      .examples = {{"claude --mcp-config '{\"mcpServers\":{\"reeve\":{\"command\":\"reeve\",\"args\":[\"mcp\"]}}}' "
                    "--permission-prompt-tool mcp__reeve__approve -p 'fix the test'",
                    "let Reeve answer what Claude Code would ask"}},
      .positionals = {},
      .options = {},
      .run = run,
  };
}

}  // namespace reeve::cli
