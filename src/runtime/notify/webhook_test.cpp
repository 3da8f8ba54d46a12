#include "runtime/notify/webhook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

WebhookCall make_call() {
  return {.address = "https://user:geheim@example.org/hook?token=x",
          .event = "failed",
          .seq = 17,
          .body = R"({"event":"tool_status_change","reason":"say \"no\" \\ \n"})",
          .secret = "key",
          .now = base::parse_time("2026-11-15T06:07:52.123Z").value()};
}

TEST(Webhook, url_and_secret_are_not_on_the_command_line) {
  const HookCommand::Plan plan = plan_webhook(make_call(), {"PATH=/bin"});
  EXPECT_THAT(plan.argv, ElementsAre("curl", "-q", "--config", "-"));
  EXPECT_THAT(plan.environment, ElementsAre("PATH=/bin"));
  EXPECT_THAT(plan.input, HasSubstr("url = \"https://user:geheim@example.org/hook?token=x\"\n"));
  EXPECT_THAT(plan.input, HasSubstr("header = \"Reeve-Sequence: 17\"\n"));
  EXPECT_THAT(plan.input, HasSubstr("header = \"Reeve-Timestamp: 1794722872\"\n"));
  EXPECT_THAT(plan.input, Not(HasSubstr("\"key\"")));
}

// A receiver in any language can verify it: HMAC-SHA-256 over timestamp, dot and body.
TEST(Webhook, signature_covers_timestamp_and_body) {
  EXPECT_EQ(sign_webhook("key", "1700000000", "{}"),
            "sha256=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae");
  const WebhookCall call = make_call();
  EXPECT_THAT(plan_webhook(call, {}).input, HasSubstr(sign_webhook("key", "1794722872", call.body)));
  WebhookCall unsigned_call = call;
  unsigned_call.secret.reset();
  EXPECT_THAT(plan_webhook(unsigned_call, {}).input, Not(HasSubstr("Reeve-Signature")));
}

TEST(Webhook, body_cannot_inject_curl_options) {
  WebhookCall call = make_call();
  call.body = "a\"\noutput = \"/etc/passwd\"\r\n\\";
  EXPECT_THAT(plan_webhook(call, {}).input, HasSubstr(R"(data-raw = "a\"\noutput = \"/etc/passwd\"\r\n\\")"
                                                      "\n"));
}

TEST(Webhook, text_has_its_title_in_a_header) {
  WebhookCall call = make_call();
  EXPECT_THAT(plan_webhook(call, {}).input, HasSubstr("header = \"Content-Type: application/json\"\n"));
  EXPECT_THAT(plan_webhook(call, {}).input, Not(HasSubstr("Title")));
  call.title = "Failed: \"x\"\r\nEvil: 1";
  const std::string input = plan_webhook(call, {}).input;
  EXPECT_THAT(input, HasSubstr("header = \"Content-Type: text/plain; charset=utf-8\"\n"));
  EXPECT_THAT(input, HasSubstr(R"(header = "Title: Failed: \"x\"  Evil: 1")"));
}

TEST(Webhook, only_2xx_counts_as_delivered) {
  const auto judge = [](std::optional<int> code, std::string output) {
    return judge_webhook({.status = {.code = code, .signal = {}}, .output = std::move(output)});
  };
  using Kind = WebhookVerdict::Kind;
  EXPECT_EQ(judge(0, "200").kind, Kind::delivered);
  EXPECT_EQ(judge(0, "204").kind, Kind::delivered);
  EXPECT_EQ(judge(0, "302").kind, Kind::again);
  EXPECT_EQ(judge(0, "404").kind, Kind::again);
  EXPECT_EQ(judge(0, "500").kind, Kind::again);
  EXPECT_EQ(judge(0, "410").kind, Kind::unwanted);
  EXPECT_EQ(judge(0, "").kind, Kind::again);
  EXPECT_EQ(judge(7, "curl: (7) Failed to connect\n000").kind, Kind::again);
  EXPECT_THAT(judge(7, "curl: (7) Failed to connect\n000").why, HasSubstr("Failed to connect"));
  EXPECT_EQ(judge_webhook({.failure = "No such file"}).kind, Kind::again);
}

}  // namespace
}  // namespace reeve::runtime
