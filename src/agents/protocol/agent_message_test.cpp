#include "agents/protocol/agent_message.h"

#include <string>

#include <gtest/gtest.h>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/recent.h"
#include "base/text.h"
#include "json/encode.h"

namespace reeve::agents {
namespace {

using base::Value;

std::string parsed(std::string_view text) {
  const auto message = parse_message(text);
  return message ? json::encode(*message) : "nothing";
}

TEST(AgentMessage, halves_of_surrogate_pairs_are_replaced) {
  EXPECT_EQ(parsed(R"({"a":"x\ud83d","b":"\ude00y","c":"\ud83d\ude00"})"), R"({"a":"x�","b":"�y","c":"😀"})");
  EXPECT_EQ(parsed(R"({"a":"\ud83d\ud83d\ude00"})"), R"({"a":"�😀"})");
  // An escaped backslash is no escape.
  EXPECT_EQ(parsed(R"({"a":"\\ud83d","b":"\ud83d"})"), R"({"a":"\\ud83d","b":"�"})");
  EXPECT_EQ(parsed("{\"a\":\"\xff\"}"), R"({"a":"�"})");
}

TEST(AgentMessage, what_is_not_json_is_nothing) {
  for (const std::string_view text : {"", "{", "{\"a\":1,\"a\":2}", "\\", "\"\\u12", "\\ud83d\\u", "{}x"}) {
    EXPECT_EQ(parsed(text), "nothing") << text;
  }
  EXPECT_EQ(parsed(std::string(100, '[') + std::string(100, ']')), "nothing");
  EXPECT_EQ(parsed(std::string(max_agent_line + 1, ' ')), "nothing");
}

TEST(AgentMessage, members_of_any_type_are_read) {
  const Value value =
      *parse_message(R"({"id":"a","empty":"","long":")" + std::string(300, 'x') +
                     R"(","n":7,"big":9e99,"nine":9223372036854775807,"minus":-1,"half":1.5,"yes":true,"no":"true"})");
  EXPECT_EQ(name_of(value, "id"), "a");
  for (const char* key : {"empty", "long", "n", "missing"}) EXPECT_EQ(name_of(value, key), std::nullopt) << key;
  EXPECT_EQ(count_of(value, "n"), 7);
  EXPECT_EQ(count_of(value, "half"), 1);
  EXPECT_EQ(count_of(value, "big"), 1'000'000'000'000);
  EXPECT_EQ(count_of(value, "nine"), 1'000'000'000'000);
  for (const char* key : {"minus", "id", "missing"}) EXPECT_EQ(count_of(value, key), 0) << key;
  EXPECT_TRUE(is_true(value, "yes"));
  EXPECT_FALSE(is_true(value, "no"));
  EXPECT_TRUE(member_of(member_of(value, "id"), "deeper").is_null());
}

TEST(AgentMessage, texts_are_bounded_and_valid) {
  const std::string text = bounded_text(std::string(max_event_text - 1, 'a') + "ä\xff" + std::string(100, 'b'));
  EXPECT_EQ(text, std::string(max_event_text - 1, 'a'));
  EXPECT_LE(bounded_text(std::string(2 * max_event_text, '\xff')).size(), max_event_text);
  EXPECT_EQ(base::find_invalid_utf8(bounded_text(std::string(2 * max_event_text, '\xff'))), std::nullopt);
  EXPECT_EQ(result_digest(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Recent, the_oldest_entry_is_forgotten) {
  Recent<int> recent(2);
  EXPECT_EQ(recent.put("a", 1), std::nullopt);
  EXPECT_EQ(recent.put("b", 2), std::nullopt);
  EXPECT_EQ(recent.put("a", 3), std::nullopt);
  EXPECT_EQ(recent.put("c", 4), 3);
  EXPECT_EQ(recent.find("a"), nullptr);
  EXPECT_EQ(*recent.find("b"), 2);
}

}  // namespace
}  // namespace reeve::agents
