#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "agents/protocol/acp_protocol.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace {

using namespace reeve;

// One agent: every line that is written is JSON, an option is chosen at most once per request, and nothing follows a
// fault.
class Player {
 public:
  explicit Player(const agents::AgentSetup& setup) : protocol_(agents::make_acp_protocol(setup)) {
    check(protocol_->begin());
  }

  void read(std::string_view line) {
    const agents::AgentReaction reaction = protocol_->on_line(line);
    check(reaction);
    for (const agents::AgentEvent& event : reaction.events) {
      if (const auto* asked = std::get_if<agents::CallAsked>(&event)) answer(*asked);
    }
  }
  void end() {
    check(protocol_->say("more"));
    check(protocol_->interrupt());
  }

 private:
  void answer(const agents::CallAsked& asked) {
    REEVE_ASSERT(tickets_.insert(asked.ticket).second);
    static_cast<void>(protocol_->may_release(asked.call));
    const auto verdict = static_cast<agents::CallVerdict>(asked.ticket % 3);
    const agents::AgentReaction reaction = protocol_->answer(asked.ticket, {.verdict = verdict, .reason = asked.call});
    check(reaction);
    // A deferred call also cancels its turn.
    REEVE_ASSERT(verdict == agents::CallVerdict::defer ? reaction.lines.size() >= 2 : reaction.lines.size() == 1);
    const agents::AgentReaction again = protocol_->answer(asked.ticket, {.verdict = agents::CallVerdict::allow});
    REEVE_ASSERT(again.lines.empty() && again.events.empty());
  }

  void check(const agents::AgentReaction& reaction) {
    REEVE_ASSERT(!has_fault_ || (reaction.lines.empty() && reaction.events.empty()));
    for (const std::string& line : reaction.lines) {
      REEVE_ASSERT(!line.contains('\n') && json::parse(line).has_value());
    }
    for (const agents::AgentEvent& event : reaction.events) {
      has_fault_ = has_fault_ || std::holds_alternative<agents::ProtocolFault>(event);
      if (const auto* text = std::get_if<agents::TextSaid>(&event)) {
        REEVE_ASSERT(text->text.size() <= agents::max_event_text && !base::find_invalid_utf8(text->text));
      }
    }
  }

  std::unique_ptr<agents::AgentProtocol> protocol_;
  std::set<std::uint64_t> tickets_;
  bool has_fault_ = false;
};

}  // namespace

// Any lines of an agent that speaks the Agent Client Protocol, in a new and in a resumed session.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  agents::AgentSetup setup{.folder = "/work", .prompt = "do it"};
  Player fresh(setup);
  setup.resumes = true;
  setup.has_deferred_call = true;
  setup.session = "S";
  Player resumed(setup);
  for (const std::string_view line : base::split(input, '\n')) {
    fresh.read(line);
    resumed.read(line);
  }
  fresh.end();
  resumed.end();
  return 0;
}
