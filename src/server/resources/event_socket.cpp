#include <utility>

#include <fmt/format.h>

#include "json/encode.h"
#include "json/parse.h"
#include "server/resources/event_feed.h"
#include "server/resources/event_texts.h"

// /api/events over a WebSocket: the client names the events it wants and the number to start from.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using runtime::EventFilter;
using Range = runtime::Queries::EventRange;

constexpr json::ParseLimits message_limits{.bytes = 64UZ * 1024, .depth = 8, .values = 1'000};

Error bad_message(std::string what) {
  return {ErrorCode::api_bad_request, std::move(what), R"(send {"type":"subscribe","events":["*"],"since":N})"};
}

struct Subscribe {
  EventFilter filter;
  Value names;
  std::optional<std::int64_t> since;
  runtime::EventWriter write = named_event_frame;
};

runtime::EventWriter parse_frames(const Value& message) {
  const Value* frames = message.find("frames");
  if (frames == nullptr || frames->is_null()) return named_event_frame;
  const std::string word = frames->as_string() != nullptr ? *frames->as_string() : std::string();
  if (word == "event") return event_frame;
  if (word == "name") return named_event_frame;
  throw bad_message("`frames` must be \"name\" (the event's name is the `type`) or \"event\"");
}

Subscribe parse_subscribe(const Value& message) {
  const Value* list = message.find("events");
  if (list == nullptr || list->as_array() == nullptr) throw bad_message("`events` must be a list of names");
  std::vector<std::string> names;
  for (const Value& name : *list->as_array()) {
    if (name.as_string() == nullptr) throw bad_message("`events` must be a list of names");
    names.push_back(*name.as_string());
  }
  auto filter = EventFilter::parse(names);
  if (!filter) throw filter.error();
  Subscribe wanted{std::move(*filter), *list, std::nullopt, parse_frames(message)};
  const Value* since = message.find("since");
  if (since == nullptr || since->is_null()) return wanted;
  if (since->as_integer() == nullptr || *since->as_integer() < 0) {
    throw bad_message("`since` must be an event number, or 0 for all events");
  }
  wanted.since = *since->as_integer();
  return wanted;
}

class EventSocket final : public runtime::EventListener, public std::enable_shared_from_this<EventSocket> {
 public:
  EventSocket(runtime::Daemon& daemon, std::shared_ptr<WebSocket> socket)
      : daemon_(daemon), socket_(std::move(socket)) {}

  void begin() {
    socket_->on_message([self = shared_from_this()](const WebSocket::Message& message) { self->hear(message.bytes); });
    socket_->on_drained([self = shared_from_this()] {
      if (self->subscription_) self->subscription_->resume();
    });
    socket_->on_closed([self = shared_from_this()] {
      ++self->serial_;
      self->subscription_.reset();
    });
  }

  bool has_room() const override { return !socket_->is_closed() && socket_->waiting() < max_waiting_events; }
  bool has_output_room() const override { return !socket_->is_closed() && socket_->waiting() < max_waiting_output; }
  void take(const runtime::EventText& text) override { socket_->send(text); }
  void take_gap(std::uint64_t lines) override {
    socket_->send_text(fmt::format(R"({{"type":"gap","dropped":{}}})", lines));
  }
  void fall_behind() override {
    socket_->cut(CloseCode::try_again_later,
                 "events were not read in time: subscribe again with the last seq as `since`");
  }
  void fail(const Error& error) override { socket_->close(CloseCode::failed, error.message()); }
  std::size_t waiting() const override { return socket_->waiting(); }

 private:
  void hear(const std::string& text) {
    try {
      const auto message = json::parse(text, message_limits);
      if (!message) throw bad_message(fmt::format("not valid JSON: {}", message.error().text()));
      const Value* type = message->find("type");
      const std::string word = type != nullptr && type->as_string() != nullptr ? *type->as_string() : std::string();
      if (word == "subscribe") return subscribe(parse_subscribe(*message));
      if (word == "unsubscribe") return unsubscribe();
      throw bad_message("`type` must be subscribe or unsubscribe");
    } catch (const Error& error) {
      tell(error);
    }
  }

  // Replaces the previous subscription, even if that has not been confirmed yet.
  void subscribe(Subscribe wanted) {
    subscription_.reset();
    const std::uint64_t serial = ++serial_;
    daemon_.queries().get_event_range(
        [self = shared_from_this(), serial, wanted = std::move(wanted)](std::expected<Range, Error> range) mutable {
          if (serial != self->serial_) return;
          if (!range) return self->tell(range.error());
          self->begin_with(std::move(wanted), *range);
        });
  }

  void begin_with(Subscribe wanted, const Range& range) {
    const std::int64_t last = range.last;
    std::int64_t since = wanted.since.value_or(last);
    if (const auto error = settle_since(since, range)) return tell(*error);
    Value answer = Value::object();
    answer.set("type", Value::string("subscribed"));
    answer.set("snapshot", Value::integer(since));
    answer.set("last", Value::integer(last));
    answer.set("events", std::move(wanted.names));
    if (Value warnings = make_warnings(wanted.filter); !warnings.as_array()->empty()) {
      answer.set("warnings", std::move(warnings));
    }
    socket_->send_text(json::encode(answer));
    subscription_ = daemon_.events().subscribe(
        {.filter = std::move(wanted.filter), .write = wanted.write, .after = since, .last = last}, shared_from_this());
  }

  void unsubscribe() {
    ++serial_;
    subscription_.reset();
    socket_->send_text(R"({"type":"unsubscribed"})");
  }

  void tell(const Error& error) {
    Value message = Value::object();
    message.set("type", Value::string("error"));
    message.set("code", Value::string(error.code()));
    message.set("message", Value::string(error.message()));
    message.set("fix", error.fix().empty() ? Value() : Value::string(error.fix()));
    socket_->send_text(json::encode(message));
  }

  runtime::Daemon& daemon_;
  std::shared_ptr<WebSocket> socket_;
  std::shared_ptr<runtime::EventSubscription> subscription_;
  // Identifies the newest subscription; store results for an older one are discarded.
  std::uint64_t serial_ = 0;
};

}  // namespace

void open_event_socket(const SharedExchange& exchange) {
  auto socket = exchange->responder->upgrade(exchange->request, {});
  exchange->is_answered = true;
  if (socket) std::make_shared<EventSocket>(exchange->daemon, std::move(socket))->begin();
}

}  // namespace reeve::server
