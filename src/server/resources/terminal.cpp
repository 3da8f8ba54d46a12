#include "server/resources/terminal.h"

#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/enum.h"
#include "json/encode.h"
#include "json/parse.h"
#include "keeper/output_reader.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// /api/runs/*/terminal over a WebSocket: a run's raw output, and input to it.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using model::Run;

constexpr json::ParseLimits message_limits{.bytes = 4'096, .depth = 4, .values = 20};
// Bytes queued for the client; the rest stays in the files until they are sent.
constexpr std::size_t max_waiting = 256UZ * 1024;
constexpr std::size_t piece_bytes = 64UZ * 1024;
constexpr WebSocketLimits terminal_limits{
    .messages_per_second = 500, .messages_at_once = 2'000, .takes_binary = true, .waiting_bytes = 1024UZ * 1024};

// "4096", or "-4096": that far before the current end.
struct From {
  std::uint64_t position = 0;
  bool is_back = false;
};

From parse_from(const std::optional<std::string>& text) {
  if (!text) return {};
  From from{.is_back = text->starts_with('-')};
  const char* begin = text->data() + (from.is_back ? 1 : 0);
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(begin, end, from.position);
  if (read.ec != std::errc() || read.ptr != end) {
    throw Error(ErrorCode::api_bad_request, "`from` must be a position, or -N for N bytes before the end");
  }
  return from;
}

// A client attached to the terminal of one attempt.
class TerminalSocket : public std::enable_shared_from_this<TerminalSocket> {
 public:
  struct Place {
    base::RunId run{0};
    int attempt = 1;
    From from;
    bool may_type = false;
  };
  // Throws if the attempt has no output.
  TerminalSocket(runtime::Daemon& daemon, const Place& place)
      : daemon_(daemon),
        place_(place),
        folder_(os::Folder::open(runtime::attempt_folder(daemon.context(), place.run, place.attempt))),
        reader_(folder_) {
    std::uint64_t from = place.from.position;
    if (place.from.is_back) {
      reader_.seek(std::numeric_limits<std::uint64_t>::max());
      from = reader_.position() - std::min(from, reader_.position());
    }
    reader_.seek(from);
  }

  void begin(std::shared_ptr<WebSocket> socket) {
    socket_ = std::move(socket);
    const auto self = shared_from_this();
    socket_->on_message([self](WebSocket::Message message) { self->hear(std::move(message)); });
    socket_->on_drained([self] { self->pump(); });
    socket_->on_closed([self] { self->release(); });
    // Subscribe before reading, so that output in between is not missed.
    more_ = daemon_.supervisor().follow_output(place_.run, [weak = weak_from_this()] {
      if (const auto alive = weak.lock()) alive->pump();
    });
    Value message = Value::object();
    message.set("type", Value::string("attached"));
    message.set("tool_run_id", Value::string(place_.run.text()));
    message.set("attempt", Value::integer(place_.attempt));
    message.set("position", Value::integer(static_cast<std::int64_t>(reader_.position())));
    message.set("may_type", Value::boolean(place_.may_type));
    socket_->send_text(json::encode(message));
    pump();
  }

 private:
  runtime::LiveRun* live() {
    runtime::LiveRun* found = daemon_.supervisor().find(place_.run);
    return found != nullptr && found->claim().attempt == place_.attempt ? found : nullptr;
  }

  void pump() {
    // The next attempt may have started before the end of this one was received.
    if (is_ended_ && !is_told_ && live() == nullptr) return ask_end();
    while (!is_ended_ && !socket_->is_closed() && socket_->waiting() < max_waiting) {
      // Checked before reading, so that everything printed before the end is read.
      const runtime::LiveRun* run = live();
      const bool is_over = run == nullptr || run->output_end().has_value();
      std::string piece;
      bool is_at_end = false;
      while (piece.size() < piece_bytes && !is_at_end) {
        const auto frame = reader_.next();
        if (frame) piece += frame->bytes;
        is_at_end = !frame;
      }
      if (!piece.empty()) {
        socket_->send(std::make_shared<const std::string>(binary_frame(piece)));
        socket_->send_text(fmt::format(R"({{"type":"position","next":{}}})", reader_.position()));
      }
      if (is_at_end && is_over) return await_end();
      if (is_at_end) return;
    }
  }

  // All output is sent; the result is stored slightly later.
  void await_end() {
    is_ended_ = true;
    over_ = daemon_.supervisor().wait({place_.run, false}, [weak = weak_from_this()](const Run& run) {
      if (const auto alive = weak.lock()) alive->finish(run);
    });
    ask_end();
  }

  void ask_end() {
    daemon_.queries().get_run(place_.run, [self = shared_from_this()](const std::expected<Run, Error>& run) {
      if (!run) return self->socket_->close(CloseCode::failed, run.error().message());
      // Otherwise the subscription reports the end.
      if (self->live() == nullptr) self->finish(*run);
    });
  }

  void finish(const Run& run) {
    if (std::exchange(is_told_, true)) return;
    Value message = Value::object();
    message.set("type", Value::string("end"));
    message.set("tool_run_id", Value::string(place_.run.text()));
    message.set("attempt", Value::integer(place_.attempt));
    message.set("status", Value::string(base::spell(run.status)));
    message.set("reason", run.reason ? Value::string(*run.reason) : Value());
    message.set("exit_code", run.exit_code ? Value::integer(*run.exit_code) : Value());
    socket_->send_text(json::encode(message));
    socket_->close(CloseCode::normal, "the run has ended");
  }

  void hear(WebSocket::Message message) {
    try {
      if (!place_.may_type) {
        throw Error(ErrorCode::api_forbidden, "this credential can watch but not type",
                    "use one with the scopes operate and approve");
      }
      if (message.is_text) return resize(message.bytes);
      type(std::move(message.bytes));
    } catch (const Error& error) {
      tell(error);
    }
  }

  // The next message is read only after this one was accepted, so that unread input cannot pile up in the daemon.
  void type(std::string bytes) {
    runtime::LiveRun* run = live();
    if (run == nullptr) throw Error(ErrorCode::run_not_running, "the run has no process to receive input");
    socket_->set_paused(true);
    run->input(std::move(bytes), [weak = weak_from_this()](bool is_taken) {
      const auto self = weak.lock();
      if (!self) return;
      self->socket_->set_paused(false);
      if (is_taken) return;
      self->tell(Error(ErrorCode::run_no_input,
                       "the tool takes no input: its standard input is closed, or too much input is pending",
                       "start it with --pty to type into it"));
    });
  }

  void resize(const std::string& text) {
    const auto message = json::parse(text, message_limits);
    const Value* type = message ? message->find("type") : nullptr;
    if (type == nullptr || type->as_string() == nullptr || *type->as_string() != "resize") {
      throw Error(ErrorCode::api_bad_request, "unknown message type",
                  R"(binary messages are input; text: {"type":"resize","rows":R,"columns":C})");
    }
    const auto number = [&](std::string_view name) {
      constexpr std::int64_t most = 1'000;
      const Value* found = message->find(name);
      const std::int64_t* value = found != nullptr ? found->as_integer() : nullptr;
      if (value == nullptr || *value < 1 || *value > most) {
        throw Error(ErrorCode::api_bad_request, fmt::format("`{}` must be a whole number from 1 to {}", name, most));
      }
      return static_cast<int>(*value);
    };
    const int rows = number("rows");
    const int columns = number("columns");
    if (runtime::LiveRun* run = live()) run->resize(rows, columns);
  }

  void tell(const Error& error) {
    Value message = Value::object();
    message.set("type", Value::string("error"));
    message.set("code", Value::string(error.code()));
    message.set("message", Value::string(error.message()));
    message.set("fix", error.fix().empty() ? Value() : Value::string(error.fix()));
    socket_->send_text(json::encode(message));
  }

  void release() {
    is_ended_ = true;
    is_told_ = true;
    more_ = {};
    over_ = {};
  }

  runtime::Daemon& daemon_;
  Place place_;
  os::Folder folder_;
  keeper::OutputReader reader_;
  std::shared_ptr<WebSocket> socket_;
  runtime::Loop::Hold more_;
  runtime::Loop::Hold over_;
  // All output was sent; the end was reported.
  bool is_ended_ = false;
  bool is_told_ = false;
};

void attach(const SharedExchange& exchange, const Run& run, TerminalSocket::Place place) {
  place.run = run.tool_run_id;
  if (place.attempt == 0) place.attempt = run.attempt;
  std::shared_ptr<TerminalSocket> terminal;
  try {
    terminal = std::make_shared<TerminalSocket>(exchange->daemon, place);
  } catch (const Error&) {
    throw Error(ErrorCode::output_not_found,
                fmt::format("{} has no output for attempt {}", place.run.text(), place.attempt));
  }
  auto socket = exchange->responder->upgrade(exchange->request, terminal_limits);
  exchange->is_answered = true;
  if (socket) terminal->begin(std::move(socket));
}

void terminal(SharedExchange exchange) {
  // APR-11: a client attached to a terminal can type an answer.
  deny_in_run_caller(exchange, fmt::format("attach to {}", exchange->run_id().text()));
  if (!may_see_secrets(*exchange)) {
    throw Error(ErrorCode::api_forbidden, "a terminal shows unredacted output, which needs the scope `operate`",
                "read /api/runs/ID/output, or use a token with that scope");
  }
  if (!exchange->request.is_upgrade()) {
    throw Error(ErrorCode::api_upgrade_required, "a terminal needs a WebSocket connection",
                "connect with a WebSocket client, or read /api/runs/ID/output");
  }
  TerminalSocket::Place place{.from = parse_from(exchange->query("from")), .may_type = may_type(*exchange)};
  place.attempt = static_cast<int>(exchange->query_integer("attempt", 0, 0, std::numeric_limits<int>::max()));
  exchange->daemon.queries().get_run(exchange->run_id(), [exchange, place](const std::expected<Run, Error>& run) {
    exchange->go_on([&] {
      if (!run) throw run.error();
      attach(exchange, *run, place);
    });
  });
}

}  // namespace

bool may_see_secrets(const Exchange& exchange) {
  const Request& request = exchange.request;
  return request.peer.entrance == Entrance::unix_socket || model::allows(request.caller.scopes, model::Scope::operate);
}

bool may_type(const Exchange& exchange) {
  const Request& request = exchange.request;
  if (request.peer.entrance == Entrance::unix_socket) return true;
  return model::allows(request.caller.scopes, model::Scope::operate) &&
         model::allows(request.caller.scopes, model::Scope::approve);
}

std::vector<Operation> terminal_operations(json::Schemas& /*schemas*/) {
  return {{.method = "GET",
           .path = "/api/runs/{id}/terminal",
           .handle = terminal,
           .name = "attachToRun",
           .inside = InRunAccess::reported,
           .summary = "Attach to the run over a WebSocket: raw output, input, terminal size and end (docs/EVENTS.md)",
           .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the latest"),
                     {"from", json::string_schema("^-?[0-9]+$"),
                      "a position in the output; negative: that many bytes before the end"}},
           .replies = {{101, Value()}},
           .errors = {ErrorCode::run_not_found, ErrorCode::output_not_found, ErrorCode::api_upgrade_required,
                      ErrorCode::http_bad_upgrade, ErrorCode::approval_inside_run, ErrorCode::api_peer_gone}}};
}

}  // namespace reeve::server
