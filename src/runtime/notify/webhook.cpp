#include "runtime/notify/webhook.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace reeve::runtime {

namespace {

constexpr auto try_limit = std::chrono::seconds(10);
// curl enforces the limit itself; this is for a curl that does not.
constexpr auto kill_limit = try_limit + std::chrono::seconds(2);

// A value in a curl config file: escaped so that it cannot begin another line.
std::string config_line(std::string_view name, std::string_view value) {
  std::string line = fmt::format("{} = \"", name);
  for (const char c : value) {
    switch (c) {
      case '\n':
        line += "\\n";
        break;
      case '\r':
        line += "\\r";
        break;
      case '\0':
        break;
      case '"':
      case '\\':
        line += '\\';
        [[fallthrough]];
      default:
        line += c;
    }
  }
  return line + "\"\n";
}

}  // namespace

std::string sign_webhook(const std::string& secret, const std::string& timestamp, const std::string& body) {
  return "sha256=" + base::hmac_sha256_hex(secret, timestamp + "." + body);
}

HookCommand::Plan plan_webhook(const WebhookCall& call, std::vector<std::string> environment) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(call.now.time_since_epoch()).count();
  const std::string timestamp = std::to_string(seconds);
  std::string config = config_line("url", call.address);
  const auto add_header = [&](std::string_view name, std::string_view value) {
    config += config_line("header", fmt::format("{}: {}", name, value));
  };
  add_header("Content-Type", call.title ? "text/plain; charset=utf-8" : "application/json");
  if (call.title) {
    // A line break would begin another header.
    std::string title = *call.title;
    std::ranges::replace_if(title, [](char c) { return c == '\r' || c == '\n'; }, ' ');
    add_header("Title", title);
  }
  add_header("User-Agent", "reeve/" REEVE_VERSION);
  add_header("Reeve-Event", call.event);
  add_header("Reeve-Sequence", std::to_string(call.seq));
  add_header("Reeve-Timestamp", timestamp);
  if (call.secret) add_header("Reeve-Signature", sign_webhook(*call.secret, timestamp, call.body));
  // Avoids the extra round trip of Expect: 100-continue.
  config += "header = \"Expect:\"\n";
  config += config_line("data-raw", call.body);
  config += fmt::format("max-time = {}\n", try_limit.count());
  // Redirects are not followed, and only the status of the response is kept.
  config += "proto = \"=http,https\"\ngloboff\nsilent\nshow-error\noutput = \"/dev/null\"\n";
  config += "write-out = \"%{http_code}\"\n";
  // -q ignores the user's own curl config.
  return {.argv = {"curl", "-q", "--config", "-"},
          .environment = std::move(environment),
          .input = std::move(config),
          .limit = kill_limit};
}

WebhookVerdict judge_webhook(const HookCommand::End& end) {
  using Kind = WebhookVerdict::Kind;
  if (!end.failure.empty()) return {Kind::again, fmt::format("curl cannot be started: {}", end.failure)};
  if (!end.is_good()) return {Kind::again, end.why()};
  const std::string_view text = base::trim(end.output);
  int status = 0;
  std::from_chars(text.data(), text.data() + text.size(), status);
  if (status >= 200 && status < 300) return {Kind::delivered};
  return {status == 410 ? Kind::unwanted : Kind::again, fmt::format("the server answered {}", base::visible(text))};
}

}  // namespace reeve::runtime
