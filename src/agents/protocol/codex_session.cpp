#include "agents/protocol/codex_session.h"

#include <utility>

#include <fmt/format.h>

#include "agents/protocol/json_members.h"
#include "base/text.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::size_t max_servers = 256;
constexpr std::size_t max_version = 64;

constexpr std::string_view policy = "untrusted";
constexpr std::string_view reviewer = "user";

struct SandboxNames {
  std::string_view asked;
  std::string_view answered;
};
// Codex's own sandbox fails inside of Reeve's.
constexpr SandboxNames sandbox_of(const AgentSetup& setup) {
  return setup.is_confined ? SandboxNames{"danger-full-access", "dangerFullAccess"}
                           : SandboxNames{"workspace-write", "workspaceWrite"};
}

ProtocolFault ungated(std::string reason) { return {.reason = std::move(reason), .is_ungated = true}; }

std::string shown(const Value& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? base::quoted(base::truncate_utf8(*text, max_agent_id)) : std::string(value.kind());
}

}  // namespace

Value make_codex_hello() {
  return Value::object({{"clientInfo", Value::object({{"name", Value::string("reeve")},
                                                      {"title", Value::string("Reeve")},
                                                      {"version", Value::string("1")}})}});
}

std::optional<std::string> find_codex_version(const Value& hello) {
  const std::string agent = json::text_of(hello, "userAgent");
  const std::size_t slash = agent.find('/');
  if (slash == std::string::npos) return std::nullopt;
  const std::string version = agent.substr(slash + 1, agent.find(' ', slash) - slash - 1);
  const bool is_version = !version.empty() && version.size() <= max_version && base::is_ascii_digit(version.front());
  return is_version ? std::optional(version) : std::nullopt;
}

std::expected<std::vector<std::string>, ProtocolFault> read_codex_servers(const Value& config) {
  for (const Value& layer : elements_of(member_of(config, "layers"))) {
    const Value& name = member_of(layer, "name");
    const bool is_of_repository = json::text_of(name, "type") == "project";
    if (!is_of_repository || !member_of(layer, "disabledReason").is_null()) continue;
    return std::unexpected(ungated(fmt::format(
        "Codex uses the repository's own settings in {}, which can start programs and allow commands: start "
        "the run in the real path of its folder",
        shown(member_of(name, "dotCodexFolder")))));
  }
  std::vector<std::string> servers;
  for (const base::Member& server : members_of(member_of(member_of(config, "config"), "mcp_servers"))) {
    servers.push_back(server.key);
  }
  if (servers.size() > max_servers) return std::unexpected(ungated("Codex has more than 256 MCP servers"));
  return servers;
}

Value make_codex_thread(const AgentSetup& setup, const std::vector<std::string>& servers) {
  Value params = Value::object();
  if (setup.resumes) {
    params.set("threadId", Value::string(setup.session));
    // A long history would be longer than a line may be.
    params.set("excludeTurns", Value::boolean(true));
  }
  params.set("cwd", Value::string(setup.folder));
  params.set("approvalPolicy", Value::string(policy));
  params.set("approvalsReviewer", Value::string(reviewer));
  params.set("sandbox", Value::string(sandbox_of(setup).asked));
  if (setup.model) params.set("model", Value::string(*setup.model));
  if (servers.empty()) return params;
  // Their calls are not asked about in a way that Reeve could answer; `-c mcp_servers={}` leaves them on (measured).
  Value off = Value::object();
  for (const std::string& server : servers) off.set(server, Value::object({{"enabled", Value::boolean(false)}}));
  params.set("config", Value::object({{"mcp_servers", std::move(off)}}));
  return params;
}

std::optional<ProtocolFault> find_codex_fault(const AgentSetup& setup, const Value& settings,
                                              std::string_view sandbox) {
  const Value& found_policy = member_of(settings, "approvalPolicy");
  if (json::text_of(settings, "approvalPolicy") != policy) {
    return ungated(
        fmt::format("Codex was asked for the approval policy `{}` and uses {}", policy, shown(found_policy)));
  }
  // Versions without a reviewer ask their client.
  const Value& found_reviewer = member_of(settings, "approvalsReviewer");
  if (!found_reviewer.is_null() && json::text_of(settings, "approvalsReviewer") != reviewer) {
    return ungated(fmt::format("Codex lets {} answer its requests for approval", shown(found_reviewer)));
  }
  const Value& found_sandbox = member_of(member_of(settings, sandbox), "type");
  const std::string_view wanted = sandbox_of(setup).answered;
  if (found_sandbox.as_string() == nullptr || *found_sandbox.as_string() != wanted) {
    return ungated(fmt::format("Codex was asked for the sandbox `{}` and uses {}", wanted, shown(found_sandbox)));
  }
  return std::nullopt;
}

Value make_codex_input(std::string_view text) {
  return Value::array({Value::object({{"type", Value::string("text")}, {"text", Value::string(text)}})});
}

}  // namespace reeve::agents
