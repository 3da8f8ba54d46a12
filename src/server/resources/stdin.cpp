#include <utility>

#include <fmt/format.h>

#include "base/base64.h"
#include "json/encode.h"
#include "runtime/runs/stdin_streams.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// /api/runs/*/stdin: the standard input that a client streams to a run (RUN-9).
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using Place = runtime::StdinStreams::Place;

constexpr std::size_t max_piece = 1UZ << 20U;
constexpr base::Milliseconds ping_time = std::chrono::seconds(15);
constexpr std::size_t max_waiting = 64UZ << 10U;

Value to_value(const Place& place) {
  Value value = Value::object();
  value.set("position", Value::integer(static_cast<std::int64_t>(place.position)));
  value.set("limit", Value::integer(static_cast<std::int64_t>(place.limit)));
  value.set("has_ended", Value::boolean(place.has_ended));
  return value;
}

// A process inside a run may send input only to the runs that it started, never to its own run.
void require_starter(const Exchange& exchange) {
  if (!exchange.in_run_caller || exchange.in_run_caller->held != exchange.run_id()) return;
  throw Error(ErrorCode::run_inside_run,
              fmt::format("a process inside {0} cannot send standard input to {0}", exchange.in_run_caller->run),
              "do it in a shell outside any run");
}

// `run.not_found`, or that the run takes no standard input.
void refuse_without_stream(const SharedExchange& exchange) {
  exchange->daemon.queries().get_run(exchange->run_id(), [exchange](const std::expected<model::Run, Error>& run) {
    if (!run) return exchange->refuse(run.error());
    exchange->refuse(
        Error(ErrorCode::run_no_input,
              fmt::format("{} is {} and takes no standard input", run->tool_run_id.text(), base::spell(run->status)),
              "start it with standard input, or with --pty to type into it"));
  });
}

runtime::StdinStreams::Piece read_piece(const Value& body) {
  runtime::StdinStreams::Piece piece;
  const Value* offset = body.find("offset");
  if (offset == nullptr || offset->as_integer() == nullptr || *offset->as_integer() < 0) {
    throw Error(ErrorCode::api_bad_request, "`offset` must be the number of bytes sent before");
  }
  piece.offset = static_cast<std::uint64_t>(*offset->as_integer());
  if (const Value* encoded = body.find("base64"); encoded != nullptr && encoded->as_string() != nullptr) {
    auto decoded = base::decode_base64(*encoded->as_string());
    if (!decoded) throw Error(ErrorCode::api_bad_request, "`base64` is not valid base64");
    piece.bytes = std::move(*decoded);
  }
  if (piece.bytes.size() > max_piece) throw Error(ErrorCode::api_bad_request, "a piece is larger than 1 MiB");
  const Value* end = body.find("end");
  piece.is_end = end != nullptr && end->as_bool() != nullptr && *end->as_bool();
  return piece;
}

void send(SharedExchange exchange) {
  require_starter(*exchange);
  auto piece = read_piece(exchange->body());
  runtime::StdinStreams& streams = exchange->daemon.supervisor().stdin_streams();
  if (!streams.find(exchange->run_id())) return refuse_without_stream(exchange);
  streams.write(exchange->run_id(), std::move(piece), [exchange](const std::expected<Place, Error>& place) {
    if (!place) return exchange->refuse(place.error());
    exchange->send(200, to_value(*place));
  });
}

// A sending client: it is present as long as its connection, and learns how much it may send.
class Sender : public std::enable_shared_from_this<Sender> {
 public:
  Sender(runtime::Daemon& daemon, base::RunId run) : daemon_(daemon), run_(run) {}

  void begin(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    stream_->on_closed([self = shared_from_this()] { self->release(); });
    hold_ = daemon_.supervisor().stdin_streams().attach(run_, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->update();
    });
    update();
    ping();
  }

 private:
  void update() {
    if (is_over_ || stream_->is_closed()) return;
    const auto place = daemon_.supervisor().stdin_streams().find(run_);
    if (place) {
      if (stream_->waiting() < max_waiting) stream_->write(json::encode(to_value(*place)) + "\n");
      return;
    }
    is_over_ = true;
    stream_->end();
    release();
  }

  // Lets the connection of a vanished client end.
  void ping() {
    ping_ = daemon_.loop().at(daemon_.loop().now() + ping_time, [self = weak_from_this()] {
      const auto alive = self.lock();
      if (!alive || alive->is_over_ || alive->stream_->is_closed()) return;
      alive->update();
      if (!alive->is_over_) alive->ping();
    });
  }

  void release() {
    is_over_ = true;
    daemon_.loop().post([self = shared_from_this()] {
      self->hold_ = {};
      self->ping_ = {};
      // The callback and this object refer to each other.
      self->stream_->on_closed(nullptr);
    });
  }

  runtime::Daemon& daemon_;
  base::RunId run_;
  std::shared_ptr<Stream> stream_;
  runtime::Loop::Hold hold_;
  runtime::Loop::Hold ping_;
  bool is_over_ = false;
};

void follow(SharedExchange exchange) {
  require_starter(*exchange);
  const base::RunId run = exchange->run_id();
  if (!exchange->daemon.supervisor().stdin_streams().find(run)) return refuse_without_stream(exchange);
  exchange->is_answered = true;
  std::make_shared<Sender>(exchange->daemon, run)
      ->begin(exchange->responder->begin({.content_type = "application/x-ndjson"}));
}

Value place_schema(json::Schemas& schemas) {
  const Value whole = schemas.of<std::int64_t>();
  return schemas.add("StdinPlace",
                     json::object_schema({{"position", whole}, {"limit", whole}, {"has_ended", schemas.of<bool>()}},
                                         {"position", "limit", "has_ended"}));
}

Value piece_schema(json::Schemas& schemas) {
  return json::object_schema(
      {{"offset", schemas.of<std::int64_t>()}, {"base64", json::string_schema()}, {"end", schemas.of<bool>()}},
      {"offset"});
}

}  // namespace

std::vector<Operation> stdin_operations(json::Schemas& schemas) {
  const Value place = place_schema(schemas);
  return {{.method = "POST",
           .path = "/api/runs/{id}/stdin",
           .handle = send,
           .name = "sendStdin",
           .inside = InRunAccess::own_run,
           .summary = "Continue the standard input of a run that was started with `standard_input` (RUN-9)",
           .scope = Scope::operate,
           .body = piece_schema(schemas),
           .replies = {{200, place}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_no_input, ErrorCode::run_inside_run,
                      ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory},
          {.method = "GET",
           .path = "/api/runs/{id}/stdin",
           .handle = follow,
           .name = "followStdin",
           .inside = InRunAccess::own_run,
           .summary = "Be the sender of a run's standard input: how much it may send, until the run ends",
           .scope = Scope::operate,
           .replies = {{200, place, "application/x-ndjson"}},
           .errors = {ErrorCode::run_not_found, ErrorCode::run_no_input, ErrorCode::run_inside_run,
                      ErrorCode::api_peer_gone}}};
}

}  // namespace reeve::server
