#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agents/hook_dialect.h"
#include "agents/hook_settings.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace {

using namespace reeve;
using agents::HookDialect;

void check_input(HookDialect dialect, std::string_view input) {
  const agents::HookInput parsed = agents::parse_hook_input(dialect, input, "new");
  if (const auto* gate = std::get_if<agents::GateEvent>(&parsed)) {
    REEVE_ASSERT(!gate->request.tool.empty() && !gate->request.call.empty());
    REEVE_ASSERT(gate->request.arguments.as_object() != nullptr && gate->request.cwd->starts_with('/'));
    REEVE_ASSERT(gate->request.channel == model::CallChannel::hook && !gate->request.execute);
  } else if (const auto* fault = std::get_if<agents::HookFault>(&parsed)) {
    REEVE_ASSERT(!fault->reason.empty());
  }
}

// Any reason gives an answer that the agent can parse.
void check_answers(HookDialect dialect, std::string_view reason) {
  for (const std::string_view event : {"PreToolUse", "PermissionRequest"}) {
    const auto denied = json::parse(agents::make_deny(dialect, event, reason).out);
    REEVE_ASSERT(denied.has_value() && denied->as_object() != nullptr);
    const std::string allowed = agents::make_allow(dialect, event, reason).out;
    REEVE_ASSERT(allowed.empty() || json::parse(allowed).has_value());
  }
  REEVE_ASSERT(agents::make_block(reason).exit_code == agents::blocking_exit_code);
}

// Every member but `hooks`.
std::vector<base::Member> other_members(std::string_view text) {
  const auto settings = json::parse(text);
  REEVE_ASSERT(settings.has_value() && settings->as_object() != nullptr);
  std::vector<base::Member> members = *settings->as_object();
  std::erase_if(members, [](const base::Member& member) { return member.key == "hooks"; });
  return members;
}

// An installed entry is found again, and leaves no trace when it is removed.
void check_settings(HookDialect dialect, std::string_view text) {
  const auto cleaned = agents::remove_hook(dialect, text);
  if (!cleaned) return;
  REEVE_ASSERT(json::parse(*cleaned).has_value());
  const auto added = agents::add_hook(dialect, *cleaned, {.program = "/usr/bin/reeve"});
  if (!added) return;
  REEVE_ASSERT(*agents::add_hook(dialect, *added, {.program = "/usr/bin/reeve"}) == *added);
  const auto removed = agents::remove_hook(dialect, *added);
  REEVE_ASSERT(removed.has_value());
  REEVE_ASSERT(other_members(*added) == other_members(*cleaned));
  REEVE_ASSERT(other_members(*removed) == other_members(*cleaned));
}

}  // namespace

// Any bytes as the input of a hook, as a reason, and as a settings file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  for (const HookDialect dialect : {HookDialect::claude, HookDialect::codex, HookDialect::gemini, HookDialect::qwen}) {
    check_input(dialect, input);
    check_answers(dialect, input);
    check_settings(dialect, input);
    static_cast<void>(agents::is_own_command(dialect, input));
  }
  return 0;
}
