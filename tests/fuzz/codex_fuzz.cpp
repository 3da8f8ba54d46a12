#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "agents/protocol/codex_protocol.h"
#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"

namespace {

using namespace reeve;

// One agent: every line that is written is JSON, a yes is written only for an answer that says so, and nothing follows
// a fault.
class Player {
 public:
  explicit Player(const agents::AgentSetup& setup) : protocol_(agents::make_codex_protocol(setup)) {
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
    REEVE_ASSERT(written_yes_ <= said_yes_);
  }

 private:
  void answer(const agents::CallAsked& asked) {
    REEVE_ASSERT(tickets_.insert(asked.ticket).second);
    static_cast<void>(protocol_->may_release(asked.call));
    const auto verdict = static_cast<agents::CallVerdict>(asked.ticket % 3);
    if (verdict == agents::CallVerdict::allow) ++said_yes_;
    check(protocol_->answer(asked.ticket, {.verdict = verdict, .reason = asked.call}));
    const agents::AgentReaction again = protocol_->answer(asked.ticket, {.verdict = agents::CallVerdict::allow});
    REEVE_ASSERT(again.lines.empty() && again.events.empty());
  }

  void check(const agents::AgentReaction& reaction) {
    REEVE_ASSERT(!has_fault_ || (reaction.lines.empty() && reaction.events.empty()));
    for (const std::string& line : reaction.lines) {
      REEVE_ASSERT(!line.contains('\n') && json::parse(line).has_value());
      REEVE_ASSERT(!line.contains("\"decision\":\"acceptForSession\""));
      if (line.ends_with("\"result\":{\"decision\":\"accept\"}}")) ++written_yes_;
    }
    for (const agents::AgentEvent& event : reaction.events) {
      has_fault_ = has_fault_ || std::holds_alternative<agents::ProtocolFault>(event);
    }
  }

  std::unique_ptr<agents::AgentProtocol> protocol_;
  std::set<std::uint64_t> tickets_;
  std::size_t said_yes_ = 0;
  std::size_t written_yes_ = 0;
  bool has_fault_ = false;
};

}  // namespace

// Any lines of Codex's app server, in a new and in a resumed session.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  agents::AgentSetup setup{.folder = "/work", .prompt = "do it"};
  Player fresh(setup);
  setup.resumes = true;
  setup.has_deferred_call = true;
  setup.session = "T";
  setup.is_confined = true;
  Player resumed(setup);
  for (const std::string_view line : base::split(input, '\n')) {
    fresh.read(line);
    resumed.read(line);
  }
  fresh.end();
  resumed.end();
  return 0;
}
