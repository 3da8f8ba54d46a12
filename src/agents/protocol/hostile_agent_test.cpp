#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/acp_protocol.h"
#include "agents/protocol/codex_protocol.h"
#include "json/encode.h"
#include "tests/support/agents/reactions.h"
#include "tests/support/agents/rpc_transcript.h"

namespace reeve::agents {
namespace {

using base::Value;

std::unique_ptr<AgentProtocol> make(const std::string& name) {
  const AgentSetup setup{.folder = "/work/shop", .prompt = "write x"};
  return name.starts_with("codex") ? make_codex_protocol(setup) : make_acp_protocol(setup);
}

Value deep() {
  Value value;
  for (int i = 0; i < 40; ++i) value = Value::array({std::move(value)});
  return value;
}

const std::array<Value, 9>& replacements() {
  static const std::array<Value, 9> values = {Value(),
                                              Value::boolean(true),
                                              Value::integer(-1),
                                              Value::integer(9223372036854775807),
                                              Value::number(-1e300),
                                              Value::string(""),
                                              Value::string(std::string(300, 'x')),
                                              Value::object({{"type", Value::array()}}),
                                              deep()};
  return values;
}

// All values within a value.
void collect(Value& value, std::vector<Value*>& found) {
  found.push_back(&value);
  if (Value::Array* list = value.as_array()) {
    for (Value& item : *list) collect(item, found);
  } else if (Value::Object* object = value.as_object()) {
    for (base::Member& member : *object) collect(member.value, found);
  }
}

// Plays the messages and denies every call. Nothing that is written may be a yes.
void play_denying(const std::string& name, const std::vector<Value>& messages) {
  const auto protocol = make(name);
  bool has_fault = false;
  const auto check = [&](const AgentReaction& reaction) {
    for (const std::string& line : reaction.lines) {
      ASSERT_TRUE(json::parse(line).has_value());
      ASSERT_THAT(line, ::testing::Not(::testing::HasSubstr("accept")));
      for (const char* option : {"allow", "proceed", "approved", "once", "always"}) {
        ASSERT_THAT(line, ::testing::Not(::testing::HasSubstr("\"optionId\":\"" + std::string(option))));
      }
    }
    ASSERT_FALSE(has_fault && (!reaction.events.empty() || !reaction.lines.empty()));
    has_fault = has_fault || !testing::events_of<ProtocolFault>(reaction).empty();
  };
  check(protocol->begin());
  for (const Value& message : messages) {
    const AgentReaction reaction = protocol->on_line(json::encode(message));
    check(reaction);
    for (const CallAsked& asked : testing::events_of<CallAsked>(reaction)) {
      check(protocol->answer(asked.ticket, {.verdict = CallVerdict::deny, .reason = "no"}));
    }
  }
  check(protocol->interrupt());
  check(protocol->say("more"));
}

class HostileAgent : public ::testing::TestWithParam<std::string> {};

// TOOL-9: whatever is wrong in whatever message, nothing throws and nothing is allowed.
TEST_P(HostileAgent, wrong_value_anywhere_allows_nothing) {
  testing::RpcTranscript transcript(GetParam(), "acp");
  const auto recorded = make(GetParam());
  transcript.play(*recorded);
  std::size_t count = 1;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Value> messages = transcript.fed();
    std::vector<Value*> values;
    for (Value& message : messages) collect(message, values);
    count = values.size();
    const std::string replaced = json::encode(*values[i]);
    *values[i] = replacements()[i % replacements().size()];
    ASSERT_NO_FATAL_FAILURE(play_denying(GetParam(), messages)) << replaced;
  }
  EXPECT_GT(count, 100U);
}

TEST_P(HostileAgent, missing_doubled_and_reversed_messages_allow_nothing) {
  testing::RpcTranscript transcript(GetParam(), "acp");
  const auto recorded = make(GetParam());
  transcript.play(*recorded);
  const std::vector<Value> messages = transcript.fed();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    std::vector<Value> fewer = messages;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    ASSERT_NO_FATAL_FAILURE(play_denying(GetParam(), fewer));
    std::vector<Value> more = messages;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), messages[i]);
    ASSERT_NO_FATAL_FAILURE(play_denying(GetParam(), more));
  }
  ASSERT_NO_FATAL_FAILURE(play_denying(GetParam(), {messages.rbegin(), messages.rend()}));
}

INSTANTIATE_TEST_SUITE_P(Transcripts, HostileAgent,
                         ::testing::Values("codex-app-server.file-change.accept", "codex-app-server.accept",
                                           "acp.codex.allow", "acp.gemini.write", "acp.opencode.allow"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace reeve::agents
