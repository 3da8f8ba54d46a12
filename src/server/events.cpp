#include <limits>

#include "runtime/combined_log.h"
#include "runtime/store_task.h"
#include "server/api.h"

// /api/events and /api/log: what happened, and what was printed, line by line.
namespace reeve::server {

namespace {

using base::Error;

constexpr std::int64_t page = 500;
// Written and not taken: a client that does not read is waited for, not filled up.
constexpr std::size_t most_waiting = 1UL << 20U;
constexpr std::size_t longest_tail = 16UL << 20U;

// One client that reads events from the store, from a number on.
struct EventFollower : std::enable_shared_from_this<EventFollower> {
  runtime::Daemon& daemon;
  std::shared_ptr<Stream> stream;
  std::int64_t after = 0;
  bool follows = false;
  bool is_reading = false;
  bool has_more = true;
  runtime::Loop::Hold hold = {};

  EventFollower(runtime::Daemon& owner, std::shared_ptr<Stream> to, std::int64_t since, bool on)
      : daemon(owner), stream(std::move(to)), after(since), follows(on) {}

  void pump() {
    if (is_reading || stream->is_closed() || stream->waiting() >= most_waiting || !has_more) return;
    is_reading = true;
    has_more = false;
    runtime::ask_store(
        daemon.ledger(), daemon.loop(),
        [from = after](ledger::Transaction& transaction) {
          std::vector<ledger::StoredEvent> events;
          transaction.session().query(store::Sql::events_since, {{"after", from}, {"most", page}},
                                      [&](const store::Row& row) {
                                        events.push_back({row.integer(0), std::string(row.text(1)),
                                                          row.word<model::EventKind>(2), std::string(row.text(3))});
                                      });
          return events;
        },
        [self = shared_from_this()](std::expected<std::vector<ledger::StoredEvent>, Error> events) {
          self->take(std::move(events));
        });
  }

  void take(std::expected<std::vector<ledger::StoredEvent>, Error> events) {
    is_reading = false;
    if (!events) return finish();
    std::string lines;
    for (const ledger::StoredEvent& event : *events) lines += runtime::event_line(event);
    if (!events->empty()) after = events->back().seq;
    if (!lines.empty()) stream->write(std::move(lines));
    has_more = has_more || static_cast<std::int64_t>(events->size()) == page;
    if (has_more) return pump();
    if (!follows) finish();
  }

  void finish() {
    stream->end();
    daemon.loop().post([self = shared_from_this()] { self->hold = {}; });
  }
};

void begin_events(SharedExchange exchange, std::int64_t since) {
  // One who began «now» asks again by that number, also when no event has come yet.
  auto stream = exchange->responder->begin(
      {.content_type = "application/x-ndjson", .headers = {{"Reeve-Since", std::to_string(since)}}});
  auto follower = std::make_shared<EventFollower>(exchange->daemon, stream, since, exchange->query_flag("follow"));
  if (follower->follows) {
    follower->hold = exchange->daemon.follow_events([follower] {
      follower->has_more = true;
      follower->pump();
    });
    stream->on_drained([follower] { follower->pump(); });
    stream->on_closed([follower] { follower->daemon.loop().post([follower] { follower->hold = {}; }); });
  }
  follower->pump();
}

void events(SharedExchange exchange) {
  const bool begins_now = exchange->query_flag("follow") && !exchange->query("since");
  if (!begins_now) {
    begin_events(exchange, exchange->query_integer("since", 0, 0, std::numeric_limits<std::int64_t>::max()));
    return;
  }
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [](ledger::Transaction& transaction) { return transaction.session().query_number(store::Sql::events_last, {}); },
      [exchange](std::expected<std::int64_t, Error> last) {
        if (!last) return exchange->refuse(last.error());
        begin_events(exchange, *last);
      });
}

void log(SharedExchange exchange) {
  if (!exchange->query_flag("follow")) {
    // What the file has, as far as one answer may be long.
    const auto path = exchange->daemon.options().folder.logs() / "combined.log";
    exchange->responder->send(
        {.content_type = "application/x-ndjson", .body = runtime::read_log_tail(path, longest_tail)});
    return;
  }
  auto stream = exchange->responder->begin({.content_type = "application/x-ndjson"});
  auto hold = std::make_shared<runtime::Loop::Hold>();
  auto skipped = std::make_shared<bool>(false);
  *hold = exchange->daemon.follow_log([stream, skipped](const std::string& lines) {
    if (stream->waiting() >= 4 * most_waiting) {
      *skipped = true;
      return;
    }
    if (*skipped) stream->write("{\"event\":\"gap\"}\n");
    *skipped = false;
    stream->write(lines);
  });
  stream->on_closed([hold, &daemon = exchange->daemon] { daemon.loop().post([hold] { *hold = {}; }); });
}

}  // namespace

std::vector<Route> event_routes() { return {{"GET", "/api/events", events}, {"GET", "/api/log", log}}; }

}  // namespace reeve::server
