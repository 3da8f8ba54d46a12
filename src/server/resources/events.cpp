#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "model/event.h"
#include "os/fd.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/event_feed.h"
#include "server/resources/event_texts.h"

// /api/events and /api/log: events and tool output. Depending on the request, events are sent as lines, as server-sent
// events, or over a WebSocket (event_socket.cpp).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using runtime::EventFilter;
using runtime::EventHub;

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t max_waiting_log = 4UZ << 20U;
constexpr std::size_t longest_tail = 16UL << 20U;
constexpr off_t tail_piece = 256L << 10U;
constexpr base::Milliseconds ping_time = std::chrono::seconds(15);

// One client that reads a stream.
class StreamListener final : public runtime::EventListener, public std::enable_shared_from_this<StreamListener> {
 public:
  StreamListener(runtime::Daemon& daemon, std::shared_ptr<Stream> stream)
      : daemon_(daemon), stream_(std::move(stream)) {}

  void begin(EventHub::Request wanted) {
    stream_->on_drained([self = shared_from_this()] {
      if (self->subscription_) self->subscription_->resume();
    });
    stream_->on_closed([self = shared_from_this()] { self->release(); });
    subscription_ = daemon_.events().subscribe(std::move(wanted), shared_from_this());
  }

  // Keeps proxies from closing an idle stream, and lets the client detect a dead one.
  void ping() {
    ping_ = daemon_.loop().at(daemon_.loop().now() + ping_time, [this] {
      if (stream_->is_closed()) return;
      if (stream_->waiting() == 0) stream_->write(": ping\n\n");
      ping();
    });
  }

  bool has_room() const override { return !stream_->is_closed() && stream_->waiting() < max_waiting_events; }
  bool has_output_room() const override { return !stream_->is_closed() && stream_->waiting() < max_waiting_output; }
  void take(const runtime::EventText& text) override { stream_->write(*text); }
  void take_gap(std::uint64_t lines) override {
    stream_->write(fmt::format("event: gap\ndata: {{\"dropped\":{}}}\n\n", lines));
  }
  void fall_behind() override { release(); }
  void fail(const Error& /*error*/) override { release(); }
  void reach_end() override {
    stream_->end();
    release();
  }
  std::size_t waiting() const override { return stream_->waiting(); }

 private:
  // Posted, because the objects to be released may be the callers. Dropping the stream without its end breaks the
  // connection, so that the client reconnects.
  void release() {
    daemon_.loop().post([self = shared_from_this()] {
      self->subscription_.reset();
      self->ping_ = {};
      self->stream_->on_drained(nullptr);
      self->stream_->on_closed(nullptr);
    });
  }

  runtime::Daemon& daemon_;
  std::shared_ptr<Stream> stream_;
  std::shared_ptr<runtime::EventSubscription> subscription_;
  runtime::Loop::Hold ping_;
};

EventFilter wanted_events(const Exchange& exchange) {
  const auto text = exchange.query("events");
  if (!text) return EventFilter::all();
  std::vector<std::string> names;
  for (const std::string_view name : base::split(*text, ',')) names.emplace_back(name);
  auto filter = EventFilter::parse(names);
  if (!filter) throw filter.error();
  return std::move(*filter);
}

// Warnings, for streams without a place for them in the body. Only the part of a name before its colon is a fixed word;
// the rest may be any text.
Headers begin_headers(const EventHub::Request& wanted) {
  // Lets a client that started without `since` resume even before the first event.
  Headers headers = {{"Reeve-Since", std::to_string(wanted.after)}};
  std::vector<std::string> names;
  for (const std::string& name : wanted.filter.never_sent()) names.push_back(name.substr(0, name.find(':')));
  if (!names.empty()) headers.emplace_back("Reeve-Warning", "this version never sends " + base::join(names, ", "));
  return headers;
}

void begin_lines(const SharedExchange& exchange, EventHub::Request wanted) {
  auto stream = exchange->responder->begin({.content_type = "application/x-ndjson", .headers = begin_headers(wanted)});
  wanted.write = event_line;
  // A paused command resumes where it was.
  wanted.is_cut = false;
  std::make_shared<StreamListener>(exchange->daemon, std::move(stream))->begin(std::move(wanted));
}

void lines(const SharedExchange& exchange) {
  EventHub::Request wanted{.filter = wanted_events(*exchange), .follows = exchange->query_flag("follow")};
  const bool begins_now = wanted.follows && !exchange->query("since");
  wanted.after = exchange->query_integer("since", 0, 0, std::numeric_limits<std::int64_t>::max());
  exchange->daemon.queries().get_event_range(
      [exchange, wanted, begins_now](std::expected<runtime::Queries::EventRange, Error> range) mutable {
        if (!range) return exchange->refuse(range.error());
        wanted.last = range->last;
        if (begins_now) wanted.after = range->last;
        if (const auto error = settle_since(wanted.after, *range)) return exchange->refuse(*error);
        begin_lines(exchange, std::move(wanted));
      });
}

// For a browser that reconnects: the last event it saw is in the header, its original start in the URL.
std::optional<std::int64_t> resume_point(const Exchange& exchange) {
  const auto header = exchange.request.header("last-event-id");
  if (!header || header->empty()) {
    if (!exchange.query("since")) return std::nullopt;
    return exchange.query_integer("since", 0, 0, std::numeric_limits<std::int64_t>::max());
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), number);
  if (error != std::errc() || end != header->data() + header->size() || number < 0) {
    throw Error(ErrorCode::api_bad_request, "Last-Event-ID must be an event number");
  }
  return number;
}

void begin_messages(const SharedExchange& exchange, EventHub::Request wanted) {
  Response head{.content_type = "text/event-stream", .headers = begin_headers(wanted)};
  head.headers.emplace_back("Cache-Control", "no-store");
  auto stream = exchange->responder->begin(std::move(head));
  // With its number, so that a client that reconnects before the first event resumes from here.
  Value begun = Value::object();
  begun.set("snapshot", Value::integer(wanted.after));
  begun.set("last", Value::integer(wanted.last));
  if (Value warnings = make_warnings(wanted.filter); !warnings.as_array()->empty()) {
    begun.set("warnings", std::move(warnings));
  }
  stream->write(fmt::format("retry: 1000\nid: {}\nevent: subscribed\ndata: {}\n\n", wanted.after, json::encode(begun)));
  wanted.write = event_message;
  const auto listener = std::make_shared<StreamListener>(exchange->daemon, std::move(stream));
  listener->begin(std::move(wanted));
  listener->ping();
}

void messages(const SharedExchange& exchange) {
  EventHub::Request wanted{.filter = wanted_events(*exchange)};
  const auto since = resume_point(*exchange);
  using Range = runtime::Queries::EventRange;
  exchange->daemon.queries().get_event_range([exchange, wanted, since](std::expected<Range, Error> range) mutable {
    if (!range) return exchange->refuse(range.error());
    wanted.last = range->last;
    wanted.after = since.value_or(range->last);
    if (const auto error = settle_since(wanted.after, *range)) return exchange->refuse(*error);
    begin_messages(exchange, std::move(wanted));
  });
}

void events(SharedExchange exchange) {
  if (exchange->request.is_upgrade()) return open_event_socket(exchange);
  const std::string accepted = base::to_ascii_lower(exchange->request.header("accept").value_or(""));
  // HEAD must not wait for the content.
  const bool is_head = exchange->request.method == "HEAD";
  if (!is_head && accepted.contains("text/event-stream")) return messages(exchange);
  lines(exchange);
}

// Sends the end of the log as of the request, in pieces as the client reads them, so that a client that does not read
// costs only one piece of memory.
class LogTail : public std::enable_shared_from_this<LogTail> {
 public:
  LogTail(os::Fd file, std::shared_ptr<Stream> stream) : file_(std::move(file)), stream_(std::move(stream)) {}

  void begin() {
    struct stat status{};
    if (!file_ || ::fstat(file_.get(), &status) != 0) return finish();
    end_ = end_of_lines(status.st_size);
    at_ = std::max<off_t>(end_ - static_cast<off_t>(longest_tail), 0);
    is_cut_ = at_ > 0;
    stream_->on_drained([self = shared_from_this()] { self->send_piece(); });
    send_piece();
  }

 private:
  // The last line may be incomplete.
  off_t end_of_lines(off_t size) const {
    constexpr off_t block = 64L << 10U;
    std::string bytes;
    for (off_t end = size; end > 0; end -= std::min(end, block)) {
      const off_t from = std::max<off_t>(end - block, 0);
      bytes.resize(static_cast<std::size_t>(end - from));
      if (::pread(file_.get(), bytes.data(), bytes.size(), from) != static_cast<ssize_t>(bytes.size())) return 0;
      const std::size_t last = bytes.rfind('\n');
      if (last != std::string::npos) return from + static_cast<off_t>(last) + 1;
    }
    return 0;
  }

  void send_piece() {
    std::string piece(static_cast<std::size_t>(std::min<off_t>(end_ - at_, tail_piece)), '\0');
    const ssize_t count = piece.empty() ? 0 : ::pread(file_.get(), piece.data(), piece.size(), at_);
    if (count <= 0) return finish();
    piece.resize(static_cast<std::size_t>(count));
    at_ += count;
    // Drop the partial first line.
    if (std::exchange(is_cut_, false)) piece.erase(0, std::min(piece.find('\n'), piece.size() - 1) + 1);
    stream_->write(std::move(piece));
    if (at_ >= end_) finish();
  }

  void finish() {
    const auto self = shared_from_this();
    stream_->on_drained(nullptr);
    stream_->end();
  }

  os::Fd file_;
  std::shared_ptr<Stream> stream_;
  off_t at_ = 0;
  off_t end_ = 0;
  bool is_cut_ = false;
};

void log(SharedExchange exchange) {
  if (!exchange->query_flag("follow")) {
    const auto path = exchange->daemon.options().folder.logs() / "combined.log";
    os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    auto stream = exchange->responder->begin({.content_type = "application/x-ndjson"});
    // The response to HEAD has no body to drain.
    if (exchange->request.method == "HEAD") return stream->end();
    std::make_shared<LogTail>(std::move(file), std::move(stream))->begin();
    return;
  }
  auto stream = exchange->responder->begin({.content_type = "application/x-ndjson"});
  auto hold = std::make_shared<runtime::Loop::Hold>();
  auto skipped = std::make_shared<bool>(false);
  *hold = exchange->daemon.follow_log([stream, skipped](const std::string& lines) {
    if (stream->waiting() >= max_waiting_log) {
      *skipped = true;
      return;
    }
    if (*skipped) stream->write("{\"event\":\"gap\"}\n");
    *skipped = false;
    stream->write(lines);
  });
  stream->on_closed([hold, &daemon = exchange->daemon] { daemon.loop().post([hold] { *hold = {}; }); });
}

// The remaining members depend on the kind (LOG-1).
Value open_record(Value schema) {
  return json::extended(std::move(schema), "additionalProperties", Value::boolean(true));
}

// `event` is the name that the client subscribed to (SPEC §9), which need not be an event kind.
Value event_line(json::Schemas& schemas) {
  return schemas.add("Event", open_record(json::object_schema({{"event", json::string_schema()},
                                                               {"timestamp", schemas.of<base::WallTime>()},
                                                               {"seq", schemas.of<std::int64_t>()}},
                                                              {"event", "timestamp", "seq"})));
}

Value log_line(json::Schemas& schemas) {
  return schemas.add("LogLine",
                     open_record(json::object_schema(
                         {{"event", json::string_schema()}, {"timestamp", schemas.of<base::WallTime>()}}, {"event"})));
}

}  // namespace

std::optional<Error> settle_since(std::int64_t& since, const runtime::Queries::EventRange& range) {
  if (since > range.last) {
    return Error(ErrorCode::events_since_ahead,
                 fmt::format("event {} does not exist yet: the newest is {}", since, range.last),
                 "reload the state and start without `since`: the store may have been replaced");
  }
  if (since == 0) since = range.pruned;
  if (since >= range.pruned) return std::nullopt;
  return Error(ErrorCode::events_pruned, fmt::format("the events up to {} were pruned", range.pruned),
               fmt::format("reload the state, then continue with since={}", range.pruned));
}

Value make_warnings(const EventFilter& filter) {
  Value::Array warnings;
  for (const std::string& name : filter.never_sent()) {
    Value warning = Value::object();
    warning.set("event", Value::string(name));
    warning.set("message", Value::string(fmt::format("this version of Reeve never sends {}", base::quoted(name))));
    warnings.push_back(std::move(warning));
  }
  return Value::array(std::move(warnings));
}

std::vector<Operation> event_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/events",
           .handle = events,
           .name = "readEvents",
           .inside = InRunAccess::refused,
           .summary = "Read events in order; the header `Reeve-Since` is the number after which they start",
           .query = {integer_parameter("since", 0, std::numeric_limits<std::int64_t>::max(),
                                       "only events after this number"),
                     flag_parameter("follow", "1: keep streaming; without `since`, new events only"),
                     text_parameter("events", "comma-separated names: only these events (docs/EVENTS.md)")},
           .replies = {{101, Value()},
                       {200, event_line(schemas), "application/x-ndjson"},
                       {200, json::string_schema(), "text/event-stream"}},
           .errors = {ErrorCode::events_no_names, ErrorCode::events_too_many_names, ErrorCode::events_unknown_name,
                      ErrorCode::events_since_ahead, ErrorCode::events_pruned, ErrorCode::http_bad_upgrade}},
          {.method = "GET",
           .path = "/api/log",
           .handle = log,
           .name = "readLog",
           .inside = InRunAccess::refused,
           .summary = "Read the end of combined.log (LOG-1), or follow it",
           .query = {flag_parameter("follow", "1: stream new lines only")},
           .replies = {{200, log_line(schemas), "application/x-ndjson"}}}};
}

}  // namespace reeve::server
