#include "agents/protocol/acp_session.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "agents/protocol/json_members.h"
#include "json/encode.h"
#include "json/fields.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::int64_t protocol_version = 1;
constexpr std::size_t max_modes = 64;
constexpr std::size_t max_options = 64;

// In the order of preference. `default` of claude-agent-acp, Gemini and Qwen asks, and so does `read-only` of codex-acp
// (measured); in `plan` nothing is changed at all.
constexpr auto asking_modes = std::to_array<std::string_view>({"default", "ask", "read-only", "plan"});

std::optional<std::string> found(std::string text) { return text.empty() ? std::nullopt : std::optional(text); }

}  // namespace

Value make_acp_hello() {
  // With files or terminals the agent would let its client do what the gate is to decide about.
  Value files = Value::object({{"readTextFile", Value::boolean(false)}, {"writeTextFile", Value::boolean(false)}});
  return Value::object(
      {{"protocolVersion", Value::integer(protocol_version)},
       {"clientCapabilities", Value::object({{"fs", std::move(files)}, {"terminal", Value::boolean(false)}})},
       {"clientInfo",
        Value::object(
            {{"name", Value::string("reeve")}, {"title", Value::string("Reeve")}, {"version", Value::string("1")}})}});
}

std::expected<AcpAgent, ProtocolFault> read_acp_hello(const Value& hello) {
  const Value& version = member_of(hello, "protocolVersion");
  if (version.as_integer() == nullptr || *version.as_integer() != protocol_version) {
    const bool is_whole = version.as_integer() != nullptr;
    return std::unexpected(ProtocolFault{
        .reason = fmt::format("the agent speaks version {} of the Agent Client Protocol, and Reeve only version 1",
                              is_whole ? json::encode(version) : std::string(version.kind()))});
  }
  const Value& capabilities = member_of(hello, "agentCapabilities");
  const bool* loads = member_of(capabilities, "loadSession").as_bool();
  // A marker is an object; only its presence counts.
  const Value& resume = member_of(member_of(capabilities, "sessionCapabilities"), "resume");
  const bool* resumes = resume.as_bool();
  return AcpAgent{.version = found(id_text_of(member_of(hello, "agentInfo"), "version")),
                  .can_resume = resume.as_object() != nullptr || (resumes != nullptr && *resumes),
                  .can_load = loads != nullptr && *loads};
}

std::optional<AcpModes> find_acp_modes(const Value& session) {
  const Value& modes = member_of(session, "modes");
  if (modes.as_object() == nullptr) return std::nullopt;
  AcpModes read{.current = id_text_of(modes, "currentModeId")};
  for (const Value& mode : elements_of(member_of(modes, "availableModes"))) {
    if (read.available.size() < max_modes) read.available.push_back(id_text_of(mode, "id"));
  }
  return read;
}

bool is_asking_mode(std::string_view mode) noexcept {
  return std::ranges::find(asking_modes, mode) != asking_modes.end();
}

std::optional<std::string> choose_asking_mode(const AcpModes& modes) {
  for (const std::string_view mode : asking_modes) {
    if (std::ranges::find(modes.available, mode) != modes.available.end()) return std::string(mode);
  }
  return std::nullopt;
}

std::optional<std::string> find_updated_mode(const Value& update, bool has_modes) {
  const std::string type = json::text_of(update, "sessionUpdate");
  if (type == "current_mode_update") return id_text_of(update, "currentModeId");
  if (type != "config_option_update" || !has_modes) return std::nullopt;
  for (const Value& option : elements_of(member_of(update, "configOptions"))) {
    if (json::text_of(option, "category") == "mode") return found(id_text_of(option, "currentValue"));
  }
  return std::nullopt;
}

std::optional<std::string> find_acp_model(const Value& session) {
  if (auto model = found(id_text_of(member_of(session, "models"), "currentModelId"))) return model;
  for (const Value& option : elements_of(member_of(session, "configOptions"))) {
    if (json::text_of(option, "category") == "model") return found(id_text_of(option, "currentValue"));
  }
  return std::nullopt;
}

std::optional<std::string> find_option(const Value& options, std::string_view kind) {
  std::size_t read = 0;
  for (const Value& option : elements_of(options)) {
    if (++read > max_options) break;
    const std::string id = id_text_of(option, "optionId");
    if (!id.empty() && json::text_of(option, "kind") == kind) return id;
  }
  return std::nullopt;
}

}  // namespace reeve::agents
