#pragma once

#include <expected>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "agents/mcp_server.h"
#include "cli/gate/run_context.h"
#include "client/daemon.h"
#include "client/run_socket.h"

// What the tools of `reeve mcp` do: they ask the daemon, inside a run over the run's socket.
namespace reeve::cli {

class McpTools {
 public:
  // Called for each question outside of a run; may throw.
  using FindDaemon = std::function<client::DaemonPlace()>;
  McpTools(RunContext context, FindDaemon find_daemon);

  // Blocks until the work is done or stopped. Never throws. May be called on several threads.
  agents::McpOutcome perform(const agents::McpWork& work, const std::stop_token& stop) const noexcept;

 private:
  agents::McpOutcome dispatch(const agents::McpWork& work, const std::stop_token& stop) const;
  std::vector<wire::HostedTool> list(const std::stop_token& stop) const;
  agents::McpOutcome approve(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome ask_person(const agents::McpWork& work, const std::stop_token& stop) const;
  // Outside of a run. Starts no daemon.
  agents::McpOutcome ask_outside(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome report_outside(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome report_progress(const agents::McpWork& work, const std::stop_token& stop) const;
  agents::McpOutcome read_context(const std::stop_token& stop) const;
  agents::McpOutcome run_hosted(const agents::McpWork& work, const std::stop_token& stop) const;
  // Outside of a run: the running daemon, or why there is none that can be told.
  std::expected<client::DaemonPlace, std::string> find_running() const;
  // Inside a run whose socket is known.
  client::RunSocket connect(const std::stop_token& stop, base::Milliseconds timeout) const;
  // Names a call or a question of this process.
  std::string own_name(const agents::McpWork& work) const;

  RunContext context_;
  FindDaemon find_daemon_;
  std::string process_name_;
  std::filesystem::path folder_;
};

}  // namespace reeve::cli
