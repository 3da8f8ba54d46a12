#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/claude_protocol.h"
#include "agents/protocol/json_line.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "tests/support/claude_lines.h"
#include "tests/support/files.h"

// Lines that no agent should print.
namespace reeve::agents {
namespace {

using base::Value;
using testing::claude_fault_of;
using testing::claude_init;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::only;
using testing::play;
using testing::result_of;
using ::testing::SizeIs;
using testing::tool_use;

std::unique_ptr<AgentProtocol> claude() { return make_claude_protocol({.prompt = "write x"}); }

TEST(ClaudeHostile, garbage_is_counted) {
  const auto protocol = claude();
  const std::vector<std::string> garbage = {"",
                                            "Warning: deprecated",
                                            "[]",
                                            "7",
                                            "{",
                                            R"({"a":1})",
                                            R"({"type":7})",
                                            R"({"type":"result","type":"result"})",
                                            "{\"type\":\"\xff\"}",
                                            std::string(100'000, '[')};
  for (std::size_t i = 0; i < max_claude_garbage; ++i) {
    ASSERT_THAT(play(*protocol, {garbage[i % garbage.size()]}).events, IsEmpty());
  }
  EXPECT_EQ(claude_fault_of(play(*protocol, {"x"})),
            "Claude Code printed more than 1000 lines that are not stream-json; is it the right program?");
}

TEST(ClaudeHostile, unknown_lines_are_ignored) {
  const auto protocol = claude();
  for (std::size_t i = 0; i < 2 * max_claude_garbage; ++i) {
    const AgentReaction reaction =
        play(*protocol, {R"({"type":"command_lifecycle"})", R"({"type":"system","subtype":"hook_started"})",
                         R"({"type":"stream_event","event":{"type":"goal_state"}})"});
    ASSERT_THAT(reaction.events, IsEmpty());
    ASSERT_THAT(reaction.lines, IsEmpty());
  }
}

TEST(ClaudeHostile, too_long_line_is_a_fault) {
  EXPECT_EQ(claude_fault_of(play(*claude(), {std::string(max_agent_line + 1, ' ')})),
            "Claude Code printed a line of more than 16 MiB");
}

TEST(ClaudeHostile, too_many_calls_are_a_fault) {
  const auto announced = claude();
  for (std::size_t i = 0; i < max_claude_calls; ++i) {
    ASSERT_EQ(claude_fault_of(play(*announced, {tool_use("m", fmt::format("t{}", i))})), "no fault");
  }
  EXPECT_EQ(claude_fault_of(play(*announced, {tool_use("m", "t1")})), "no fault") << "it is known";
  EXPECT_THAT(claude_fault_of(play(*announced, {tool_use("m", "more")})), HasSubstr("more than 10000 calls"));
  const auto refused = claude();
  for (std::size_t i = 0; i <= max_claude_calls; ++i) {
    play(*refused, {fmt::format(R"({{"type":"system","subtype":"permission_denied","tool_use_id":"t{}"}})", i)});
  }
  EXPECT_THAT(play(*refused, {claude_init}).events, IsEmpty()) << "it is broken";
}

TEST(ClaudeHostile, repeated_call_is_no_single_call) {
  const auto protocol = claude();
  play(*protocol, {testing::starts("m1"), tool_use("m1", "t1"), tool_use("m1", "t1"), testing::stops});
  EXPECT_FALSE(protocol->may_release("t1"));
}

TEST(ClaudeHostile, many_results_in_a_line_are_read_in_linear_time) {
  std::string results;
  std::string metas;
  for (int i = 0; i < 50'000; ++i) {
    results += fmt::format(R"({}{{"type":"tool_result","tool_use_id":"t{}","is_error":true}})", i > 0 ? "," : "", i);
    metas += fmt::format(R"({}{{"id":"t{}","non_execution_kind":"x"}})", i > 0 ? "," : "", i);
  }
  const std::string line =
      R"({"type":"user","message":{"content":[)" + results + R"(]},"tool_result_meta":[)" + metas + "]}";
  const auto ended = only<CallEnded>(play(*claude(), {line}));
  ASSERT_THAT(ended, SizeIs(50'000));
  EXPECT_TRUE(ended.back().was_refused);
}

// As deep as a call that the hook allows can be.
TEST(ClaudeHostile, deep_arguments_are_understood) {
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  const std::string line =
      R"({"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"X","input":{"a":)" +
      deep + "}}]}}";
  EXPECT_THAT(only<CallAnnounced>(play(*claude(), {line})), SizeIs(1));
}

// JavaScript cuts texts in the middle of a pair.
TEST(ClaudeHostile, half_a_surrogate_pair_does_not_hide_a_line) {
  const auto text = [](const std::string& escaped) {
    const auto value = parse_json_line(R"({"a":")" + escaped + "\"}");
    return value ? json::encode(*value->find("a")) : "nothing";
  };
  EXPECT_EQ(text("x\\ud83d"), "\"x\xef\xbf\xbd\"");
  EXPECT_EQ(text("\\uDE00y"), "\"\xef\xbf\xbdy\"");
  EXPECT_EQ(text("\\ud83d\\ud83d\\ude00"), "\"\xef\xbf\xbd😀\"");
  EXPECT_EQ(text("\\ud83d\\n"), "\"\xef\xbf\xbd\\n\"");
  EXPECT_EQ(text("\\\\ud83d \\ud83d"), "\"\\\\ud83d \xef\xbf\xbd\"");
  EXPECT_EQ(text("\\ud83d\\"), "nothing");
  EXPECT_EQ(text("\\ud8"), "nothing");
}

// --- Every member of real lines in a wrong type ---

const std::vector<Value>& wrong_values() {
  static const std::vector<Value> values = {Value(),
                                            Value::boolean(true),
                                            Value::integer(-1),
                                            Value::number(1e300),
                                            Value::string(""),
                                            Value::string(std::string(1000, '-')),
                                            Value::array({Value::array()}),
                                            Value::object({{"type", Value::string("tool_use")}})};
  return values;
}

// Calls `use` with each variant in which one value of the tree is replaced or one member is missing.
template <class Use>
void for_each_variant(const Value& root, Value& place, const Use& use) {
  const Value original = place;
  for (const Value& wrong : wrong_values()) {
    place = wrong;
    use(root);
  }
  place = original;
  if (Value::Object* members = place.as_object()) {
    for (std::size_t i = 0; i < members->size(); ++i) for_each_variant(root, (*members)[i].value, use);
    for (std::size_t i = 0; i < original.as_object()->size(); ++i) {
      auto fewer = *original.as_object();
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      place = Value::object(std::move(fewer));
      use(root);
    }
    place = original;
  } else if (Value::Array* elements = place.as_array()) {
    for (Value& element : *elements) for_each_variant(root, element, use);
  }
}

// TOOL-9: whatever the agent prints, nothing is allowed without an answer, and every written line is JSON.
TEST(ClaudeHostile, no_wrong_type_leads_to_a_yes) {
  const std::string text =
      testing::read_text(testing::source_folder() / "tests/golden/agents/transcripts/claude-stdio-control.deny.jsonl");
  std::size_t variants = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.empty()) continue;
    Value message = *json::parse(line)->find("msg");
    for_each_variant(message, message, [&](const Value& variant) {
      ++variants;
      for (const ClaudeTraits& traits : {claude_traits, qwen_traits}) {
        ClaudeProtocol protocol(traits, {.prompt = "write x"});
        const AgentReaction reaction = protocol.on_line(json::encode(variant));
        for (const std::string& written : reaction.lines) {
          EXPECT_TRUE(json::parse(written).has_value()) << written;
          EXPECT_THAT(written, Not(HasSubstr("allow")));
        }
      }
    });
  }
  EXPECT_GT(variants, 3'000U);
}

}  // namespace
}  // namespace reeve::agents
