#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include "agents/mcp_server.h"
#include "cli/gate/run_context.h"
#include "client/run_socket.h"

// What the tools of `reeve mcp` do: they ask the daemon over the socket of the run.
namespace reeve::cli {

class McpTools {
 public:
  explicit McpTools(RunContext context);

  // Blocks until the work is done or stopped. Never throws. May be called on several threads.
  agents::McpOutcome perform(const agents::McpWork& work, const std::stop_token& stop) const noexcept;

 private:
  agents::McpOutcome dispatch(const agents::McpWork& work, const std::stop_token& stop) const;
  std::vector<wire::HostedTool> list(const std::stop_token& stop) const;
  agents::McpOutcome approve(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome ask_person(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome report_progress(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome read_context(const std::stop_token& stop) const;
  agents::McpOutcome run_hosted(const agents::McpWork& work, const std::stop_token& stop) const;
  // Inside a run whose socket is known.
  client::RunSocket connect(const std::stop_token& stop, base::Milliseconds timeout) const;
  // Names a call or a question of this process.
  std::string own_name(const agents::McpWork& work) const;

  RunContext context_;
  std::string process_name_;
  std::filesystem::path folder_;
};

}  // namespace reeve::cli
