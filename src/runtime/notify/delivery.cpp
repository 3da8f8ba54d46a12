#include "runtime/notify/delivery.h"

#include <optional>

#include <fmt/format.h>

#include "base/redaction.h"
#include "base/text.h"
#include "base/value.h"
#include "json/encode.h"
#include "json/parse.h"
#include "runtime/notify/secret_file.h"

namespace reeve::runtime {

namespace {

using base::Value;
using Key = std::expected<std::optional<std::string>, std::string>;

Key find_key(const model::Notification& entry, const SenderSettings& sender) {
  if (entry.secret_file) {
    auto text = read_secret_file(*entry.secret_file);
    if (!text) return std::unexpected(std::move(text.error()));
    return std::optional(std::move(*text));
  }
  if (!entry.secret_env) return std::nullopt;
  const auto found = sender.secrets.find(*entry.secret_env);
  if (found != sender.secrets.end()) return std::optional(found->second);
  return std::unexpected(fmt::format("{} was not set when the daemon was started; restart it, or use `secret_file`",
                                     base::quoted(*entry.secret_env)));
}

// The object with both texts and the event.
std::string make_object(const NoticeMessage& message) {
  Value object = Value::object();
  object.set("title", Value::string(message.text.title));
  object.set("body", Value::string(message.text.body));
  object.set("text", Value::string(message.text.title + "\n" + message.text.body));
  object.set("event", json::parse(message.event).value_or(Value()));
  return json::encode(object);
}

std::string make_content(model::NotifyFormat format, const NoticeMessage& message) {
  if (format == model::NotifyFormat::text) return message.text.body;
  return format == model::NotifyFormat::message ? make_object(message) : message.event;
}

}  // namespace

std::expected<HookCommand::Plan, std::string> plan_delivery(const model::Notification& entry,
                                                            const NoticeMessage& message, const SenderSettings& sender,
                                                            base::WallTime now) {
  if (!entry.webhook) {
    return HookCommand::Plan{.argv = expand_command(entry.command, message.text), .environment = sender.environment};
  }
  auto key = find_key(entry, sender);
  if (!key) return std::unexpected(std::move(key.error()));
  WebhookCall call{.address = *entry.webhook,
                   .event = message.text.event,
                   .seq = message.seq,
                   .body = make_content(entry.format, message),
                   .title = std::nullopt,
                   .secret = std::move(*key),
                   .now = now};
  if (entry.format == model::NotifyFormat::text) call.title = message.text.title;
  return plan_webhook(call, sender.environment);
}

WebhookVerdict judge_delivery(const model::Notification& entry, const HookCommand::End& end) {
  using Kind = WebhookVerdict::Kind;
  if (entry.webhook) return judge_webhook(end);
  return end.is_good() ? WebhookVerdict{Kind::delivered} : WebhookVerdict{Kind::unwanted, end.why()};
}

std::string name_of(const model::Notification& entry) {
  return entry.webhook ? base::quoted(base::mask_address(*entry.webhook)) : base::quoted(entry.command.front());
}

}  // namespace reeve::runtime
