#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/protocol/opencode_command.h"
#include "agents/protocol/opencode_protocol.h"
#include "tests/fuzz/reaction_checks.h"

using namespace reeve;

// Each line of the input is something that happens: `L` a line of output, `R` and `F` a response, `A` and `D` an answer
// to the oldest question, `I` an interruption, `S` a further prompt, and anything else an event.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(agents::parse_loopback_address(input));
  agents::AgentSetup setup;
  setup.prompt = "write x";
  setup.resumes = input.starts_with("resume\n");
  setup.session = "s1";
  const auto protocol = agents::make_opencode_protocol(setup);
  fuzz::ReactionChecks checks;
  const auto respond = [&](int status, std::string_view body) {
    if (checks.open_requests.empty()) return;
    const std::uint64_t number = checks.open_requests.front();
    checks.open_requests.erase(checks.open_requests.begin());
    checks.check(protocol->on_response(number, status, body));
    REEVE_ASSERT(fuzz::ReactionChecks::is_empty(protocol->on_response(number, status, body)));
  };
  const auto answer = [&](agents::CallVerdict verdict) {
    if (checks.tickets.empty()) return;
    const std::uint64_t ticket = checks.tickets.front();
    checks.tickets.erase(checks.tickets.begin());
    checks.check(protocol->answer(ticket, {.verdict = verdict, .reason = std::string(input.substr(0, 64))}));
    REEVE_ASSERT(fuzz::ReactionChecks::is_empty(protocol->answer(ticket, {.verdict = agents::CallVerdict::allow})));
  };
  for (const std::string_view line : base::split(input, '\n')) {
    const std::string_view rest = line.substr(line.empty() ? 0 : 1);
    switch (line.empty() ? '\0' : line.front()) {
      case 'L':
        checks.check(protocol->on_line(rest));
        break;
      case 'R':
        respond(200, rest);
        break;
      case 'F':
        respond(404, rest);
        break;
      case 'A':
        answer(agents::CallVerdict::allow);
        break;
      case 'D':
        answer(agents::CallVerdict::deny);
        break;
      case 'I':
        checks.check(protocol->interrupt());
        break;
      case 'S':
        checks.check(protocol->say(rest));
        break;
      default:
        checks.check(protocol->on_event(line));
    }
    static_cast<void>(protocol->may_release(rest));
  }
  return 0;
}
