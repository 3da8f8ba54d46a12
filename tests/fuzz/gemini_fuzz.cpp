#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agents/protocol/gemini_command.h"
#include "agents/protocol/gemini_protocol.h"
#include "tests/fuzz/reaction_checks.h"

using namespace reeve;

// Any lines of Gemini CLI, and any prompt for it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string prompt = agents::literal_gemini_prompt(input);
  REEVE_ASSERT(!prompt.starts_with('/') && prompt.size() >= input.size());
  const auto protocol = agents::make_gemini_protocol({});
  fuzz::ReactionChecks checks;
  for (const std::string_view line : base::split(input, '\n')) {
    checks.check(protocol->on_line(line));
    static_cast<void>(protocol->may_release(line));
  }
  checks.check(protocol->on_exit(size % 2 == 0 ? 41 : 0));
  REEVE_ASSERT(fuzz::ReactionChecks::is_empty(protocol->on_exit(41)) || size % 2 == 1);
  return 0;
}
