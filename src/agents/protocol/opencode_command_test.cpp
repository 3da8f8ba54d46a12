#include "agents/protocol/opencode_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/agent_message.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"

namespace reeve::agents {
namespace {

using base::Value;
using ::testing::ElementsAre;

AgentSetup make_setup() {
  AgentSetup setup;
  setup.command = {"opencode"};
  setup.folder = "/work/shop";
  setup.secret = "f00d";
  return setup;
}

Value settings_of(const AgentSetup& setup) {
  const auto settings = json::parse(make_opencode_command(setup).environment.at("OPENCODE_CONFIG_CONTENT"));
  EXPECT_TRUE(settings.has_value());
  return settings.value_or(Value());
}

TEST(OpencodeCommand, it_is_a_server_on_the_loopback) {
  const AgentCommand command = make_opencode_command(make_setup());
  EXPECT_THAT(command.argv, ElementsAre("opencode", "serve", "--hostname", "127.0.0.1", "--port", "0"));
  EXPECT_EQ(command.environment.at("OPENCODE_SERVER_PASSWORD"), "f00d");
  EXPECT_EQ(command.environment.at("OPENCODE_SERVER_USERNAME"), "opencode");
  EXPECT_EQ(command.input, std::nullopt);
}

// AGT-5: settings of the project never count, and those of the person never allow a call unasked.
TEST(OpencodeCommand, every_call_is_asked_about) {
  const Value settings = settings_of(make_setup());
  const Value& permission = member_of(settings, "permission");
  for (const char* name : {"*", "bash", "edit", "read", "webfetch", "task", "external_directory"}) {
    EXPECT_EQ(json::text_of(permission, name), "ask") << name;
  }
  // Nobody sits at opencode's own screen.
  for (const char* name : {"question", "plan_exit", "batch"}) EXPECT_EQ(json::text_of(permission, name), "deny");
  const AgentCommand command = make_opencode_command(make_setup());
  EXPECT_EQ(command.environment.at("OPENCODE_PERMISSION"), json::encode(permission));
  EXPECT_EQ(command.environment.at("OPENCODE_DISABLE_PROJECT_CONFIG"), "1");
}

TEST(OpencodeCommand, nothing_runs_or_leaves_unasked) {
  const Value settings = settings_of(make_setup());
  EXPECT_FALSE(*member_of(settings, "autoupdate").as_bool());
  EXPECT_FALSE(*member_of(settings, "formatter").as_bool());
  EXPECT_FALSE(*member_of(settings, "lsp").as_bool());
  EXPECT_EQ(json::text_of(settings, "share"), "disabled");
  EXPECT_EQ(json::encode(member_of(settings, "instructions")), R"(["/work/shop/AGENTS.md"])");
  EXPECT_TRUE(member_of(settings, "model").is_null());
  AgentSetup setup = make_setup();
  setup.model = "anthropic/claude";
  EXPECT_EQ(json::text_of(settings_of(setup), "model"), "anthropic/claude");
}

TEST(OpencodeCommand, rules_of_a_session_are_recognised) {
  const auto has_rules = [](std::string_view rules) {
    return has_opencode_rules(*json::parse("{\"permission\":" + std::string(rules) + "}"));
  };
  EXPECT_TRUE(has_opencode_rules(Value::object({{"permission", make_opencode_rules()}})));
  const std::string ask = R"({"permission":"*","pattern":"*","action":"ask"})";
  const std::string allow = R"({"permission":"bash","pattern":"*","action":"allow"})";
  EXPECT_TRUE(has_rules("[" + allow + "," + ask + "]"));
  EXPECT_FALSE(has_rules("[" + ask + "," + allow + "]"));
  EXPECT_FALSE(has_rules("[" + ask + R"(,{"permission":"bash","pattern":"*","action":"new"}])"));
  for (const char* rules : {"[]", "null", "{}", "7", R"([{"permission":"*","pattern":"*","action":"allow"}])", "[[]]",
                            R"([{"permission":"*","pattern":"src","action":"ask"}])"}) {
    EXPECT_FALSE(has_rules(rules)) << rules;
  }
  EXPECT_FALSE(has_opencode_rules(Value()));
}

TEST(OpencodeCommand, only_loopback_addresses_are_taken) {
  EXPECT_EQ(parse_loopback_address("http://127.0.0.1:4096"), "http://127.0.0.1:4096");
  EXPECT_EQ(parse_loopback_address("http://[::1]:1/ and more"), "http://[::1]:1");
  EXPECT_EQ(parse_loopback_address("http://127.0.0.1:65535/\r"), "http://127.0.0.1:65535");
  for (const char* text : {"",
                           "http://127.0.0.1",
                           "http://127.0.0.1:",
                           "http://127.0.0.1:0",
                           "http://127.0.0.1:65536",
                           "http://127.0.0.1:080",
                           "http://127.0.0.1:-1",
                           "http://127.0.0.1:+80",
                           "http://127.0.0.1:99999999999999999999",
                           "http://127.0.0.1:80@evil.example",
                           "http://127.0.0.1:80.evil",
                           "http://127.0.0.1:80/path",
                           "http://127.0.0.1.evil:80",
                           "http://0.0.0.0:80",
                           "http://localhost:80",
                           "http://10.0.0.1:80",
                           "https://127.0.0.1:80",
                           "http://user@127.0.0.1:80",
                           "http://[::]:80",
                           "http://[::1:80"}) {
    EXPECT_EQ(parse_loopback_address(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace reeve::agents
