#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "agents/protocol/claude_protocol.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace {

using namespace reeve;

void check_lines(const agents::AgentReaction& reaction) {
  for (const std::string& line : reaction.lines) {
    REEVE_ASSERT(line.find('\n') == std::string::npos);
    REEVE_ASSERT(json::parse(line, {.bytes = 2 * agents::max_agent_line, .depth = 256}).has_value());
  }
}

void check_reaction(const agents::AgentReaction& reaction) {
  check_lines(reaction);
  for (const std::string& line : reaction.lines) REEVE_ASSERT(!line.contains(R"("behavior":"allow")"));
  for (const agents::AgentEvent& event : reaction.events) {
    if (const auto* said = std::get_if<agents::TextSaid>(&event)) {
      REEVE_ASSERT(!said->text.empty() && said->text.size() <= agents::max_event_text);
    }
    if (const auto* opened = std::get_if<agents::SessionOpened>(&event)) {
      REEVE_ASSERT(agents::is_session_id(opened->session));
    }
    if (const auto* totals = std::get_if<agents::UsageTotals>(&event)) {
      REEVE_ASSERT(totals->input_tokens >= 0 && totals->output_tokens >= 0 && totals->cached_tokens >= 0);
    }
  }
}

void run(const agents::ClaudeTraits& traits, std::string_view input) {
  agents::ClaudeProtocol protocol(traits, {.prompt = "write x"});
  check_reaction(protocol.begin());
  bool has_fault = false;
  for (const std::string_view line : base::split(input, '\n')) {
    const agents::AgentReaction reaction = protocol.on_line(line);
    check_reaction(reaction);
    REEVE_ASSERT(!has_fault || (reaction.events.empty() && reaction.lines.empty()));
    for (const agents::AgentEvent& event : reaction.events) {
      if (std::holds_alternative<agents::ProtocolFault>(event)) has_fault = true;
      const auto* asked = std::get_if<agents::CallAsked>(&event);
      if (asked == nullptr || asked->ticket % 3 == 0) continue;
      const auto verdict = asked->ticket % 3 == 1 ? agents::CallVerdict::allow : agents::CallVerdict::defer;
      check_lines(protocol.answer(asked->ticket, {verdict, std::string(line.substr(0, 100))}));
      REEVE_ASSERT(protocol.answer(asked->ticket, {agents::CallVerdict::allow, ""}).lines.empty());
    }
    static_cast<void>(protocol.may_release("t1"));
  }
}

}  // namespace

// Any lines of Claude Code or Qwen Code: what is written is JSON, only an answer allows a call, and nothing is believed
// after a fault.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  run(agents::claude_traits, input);
  run(agents::qwen_traits, input);
  return 0;
}
