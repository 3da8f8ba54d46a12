#include "runtime/output/redact_event.h"

#include <gtest/gtest.h>

#include "json/encode.h"
#include "json/parse.h"

namespace reeve::runtime {
namespace {

// LOG-4: decoded values are redacted in every field that is stored or shown.
TEST(RedactEvent, hides_secrets_in_every_field) {
  base::SecretSet secrets;
  secrets.add("pass\"word");
  secrets.prepare();
  const std::string secret = "a pass\"word b";
  const std::string hidden = "a *** b";
  const auto redacted = [&]<class T>(T event) {
    ToolEvent wrapped = std::move(event);
    redact_event(wrapped, secrets);
    return std::get<T>(wrapped);
  };
  EXPECT_EQ(redacted(ErrorReport{secret}).message, hidden);
  EXPECT_EQ(redacted(ToolUseError{secret}).message, hidden);
  EXPECT_EQ(redacted(model::Progress{.percent = 1, .message = secret}).message, hidden);
  const Question question = redacted(Question{.question = secret,
                                              .options = {{secret, secret, true}},
                                              .default_value = secret,
                                              .expires_in = {},
                                              .tool_ref = secret});
  EXPECT_EQ(question.question, hidden);
  EXPECT_EQ(question.options.front().value, hidden);
  EXPECT_EQ(question.options.front().label, hidden);
  EXPECT_EQ(question.default_value, hidden);
  EXPECT_EQ(question.tool_ref, hidden);
  const auto data = json::parse(R"({"k pass\"word": ["pass\"word", {"x": "pass\"word"}], "n": 1})").value();
  const Report report = redacted(Report{.data = data});
  EXPECT_EQ(json::encode(*report.data), R"({"k ***":["***",{"x":"***"}],"n":1})");
  const ToolCall call = redacted(ToolCall{.tool = secret, .arguments = data, .id = secret});
  EXPECT_EQ(call.tool, hidden);
  EXPECT_EQ(call.id, hidden);
  EXPECT_EQ(json::encode(call.arguments), R"({"k ***":["***",{"x":"***"}],"n":1})");
}

}  // namespace
}  // namespace reeve::runtime
