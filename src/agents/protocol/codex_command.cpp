#include "agents/protocol/codex_command.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/value.h"
#include "json/encode.h"

namespace reeve::agents {

namespace {

// Measured with Codex 0.166: with these settings the model is offered a shell, apply_patch and a question to the person
// (which is refused), and nothing else. Keys that a version does not know are ignored by it.
constexpr auto settings = std::to_array<std::string_view>({
    "web_search=\"disabled\"",
    "features.standalone_web_search=false",
    // Approved commands would get a terminal, and the model could type into it without being asked (measured).
    "features.unified_exec_tty=false",
    // Subagents, whose threads have settings of their own.
    "features.multi_agent=false",
    "features.multi_agent_v2=false",
    // A person's `reeve hook codex` would ask a second time; other hooks could answer for Reeve.
    "features.hooks=false",
    // A model that answers requests for permission.
    "features.guardian_approval=false",
    "features.request_permissions_tool=false",
    // Turns that Codex starts by itself.
    "features.goals=false",
    // Reads files without asking (measured).
    "features.view_image=false",
    "features.image_generation=false",
    "features.code_mode=false",
    "features.apps=false",
    "features.skill_mcp_dependency_install=false",
    // Documented, not measured: these have no effect that the model sees.
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
});

// Measured: `thread/start` otherwise marks the project as trusted in the person's config.toml, starts the MCP servers
// of the repository, and lets its rules allow commands. A parent counts too, because it may be the project's root.
std::string distrust(std::string_view folder) {
  std::string projects;
  while (true) {
    const std::string key = json::encode(base::Value::string(folder));
    projects += fmt::format("{}{}={{trust_level=\"untrusted\"}}", projects.empty() ? "" : ",", key);
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string_view::npos || folder == "/") break;
    folder = slash == 0 ? "/" : folder.substr(0, slash);
  }
  return fmt::format("projects={{{}}}", projects);
}

}  // namespace

AgentCommand make_codex_command(const AgentSetup& setup) {
  AgentCommand command{.argv = setup.command};
  if (command.argv.empty()) command.argv.emplace_back("codex");
  // Without this flag 0.166 waits for the network for five seconds (measured).
  for (const std::string_view word : {"app-server", "--disable", "plugins"}) command.argv.emplace_back(word);
  for (const std::string_view setting : settings) {
    command.argv.emplace_back("-c");
    command.argv.emplace_back(setting);
  }
  command.argv.emplace_back("-c");
  command.argv.push_back(distrust(setup.folder));
  return command;
}

}  // namespace reeve::agents
