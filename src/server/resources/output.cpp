#include <array>
#include <charconv>
#include <limits>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/encode.h"
#include "keeper/output_reader.h"
#include "keeper/packing.h"
#include "os/file.h"
#include "runtime/output/line_splitter.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "server/resources/terminal.h"

// /api/runs/*/output: a tool's output, as stored frames or redacted line by line.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::size_t max_waiting = 1UL << 20U;
constexpr std::size_t piece_bytes = 256UL << 10U;

// Where to resume: a position for each stream, which differ when one of them is inside a line.
using Place = std::array<std::uint64_t, 2>;

// "-65536": that far before the current end, at the start of a frame.
std::optional<std::uint64_t> parse_back(const std::optional<std::string>& text) {
  std::uint64_t back = 0;
  if (!text || !text->starts_with('-')) return std::nullopt;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data() + 1, end, back);
  return read.ec == std::errc() && read.ptr == end ? std::optional(back) : std::nullopt;
}

Place parse_place(const std::optional<std::string>& text) {
  if (!text || parse_back(text)) return {0, 0};
  Place place{};
  const char* end = text->data() + text->size();
  const auto first = std::from_chars(text->data(), end, place[0]);
  place[1] = place[0];
  const bool has_second = first.ec == std::errc() && first.ptr != end && *first.ptr == '.';
  const auto second = has_second ? std::from_chars(first.ptr + 1, end, place[1]) : first;
  if (first.ec != std::errc() || second.ec != std::errc() || second.ptr != end) {
    throw Error(ErrorCode::api_bad_request, "`from` must be a number or a `next` from an earlier response");
  }
  return place;
}

// The secrets that the run printed, kept as long as its output.
std::shared_ptr<const base::SecretSet> read_secrets(const std::string& folder) {
  std::vector<std::string> values;
  // Without the file, no secrets were printed.
  if (const auto packed = os::find_file(folder + "/secrets", base::limits::json_bytes)) {
    keeper::Unpacker(*packed).get(values);
  }
  return runtime::prepare_secrets(values);
}

// A client that reads the output of one attempt.
class OutputFollower : public std::enable_shared_from_this<OutputFollower> {
 public:
  struct Start {
    base::RunId run{0};
    int attempt = 1;
    Place from{};
    // If set: that far before the end.
    std::optional<std::uint64_t> back = {};
    bool follows = false;
    // Stored frames, or frames of the same kind with secrets masked; otherwise lines.
    bool is_frames = false;
    bool is_masked = false;
  };
  OutputFollower(runtime::Daemon& daemon, Start start, std::shared_ptr<const base::SecretSet> secrets)
      : daemon_(daemon),
        start_(start),
        folder_(os::Folder::open(runtime::attempt_folder(daemon.context(), start.run, start.attempt))),
        reader_(folder_),
        secrets_(std::move(secrets)),
        redactors_{base::Redactor(*secrets_), base::Redactor(*secrets_)},
        fed_(start.from),
        safe_(start.from) {
    std::uint64_t from = std::min(start.from[0], start.from[1]);
    if (start.back) {
      reader_.seek(std::numeric_limits<std::uint64_t>::max());
      from = reader_.position() - std::min(*start.back, reader_.position());
    }
    reader_.seek(from);
    for (std::size_t i = 0; i < 2; ++i) {
      splitters_[i] =
          std::make_unique<runtime::LineSplitter>([this, i](const runtime::Line& line) { add_line(i, line); });
    }
  }

  std::uint64_t position() const { return reader_.position(); }

  void begin(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    if (start_.follows) {
      hold_ = daemon_.supervisor().follow_output(start_.run, [self = weak_from_this()] {
        if (const auto alive = self.lock()) alive->pump();
      });
    }
    stream_->on_drained([self = shared_from_this()] { self->pump(); });
    stream_->on_closed([self = shared_from_this()] { self->release(); });
    pump();
  }

 private:
  void pump() {
    while (!is_ended_ && !stream_->is_closed() && stream_->waiting() < max_waiting) {
      // Checked before reading, so that everything printed before the end is read.
      const bool is_over = is_over_now();
      bool is_at_end = false;
      while (piece_.size() < piece_bytes) {
        const auto frame = reader_.next();
        if (!frame) {
          is_at_end = true;
          break;
        }
        take(*frame);
      }
      const bool ends = is_at_end && (is_over || !start_.follows);
      if (ends && start_.is_masked) {
        for (const std::size_t i : {0UL, 1UL}) add_frame(i, redactors_[i].finish());
      } else if (ends && !start_.is_frames) {
        for (const auto& splitter : splitters_) splitter->finish();
        // Ends a line of which only a part was sent.
        for (const std::size_t i : {0UL, 1UL}) {
          if (is_inside_[i]) add_line(i, {.position = fed_[i], .text = {}, .is_continuation = true, .end = fed_[i]});
        }
      }
      if (!piece_.empty()) stream_->write(std::exchange(piece_, {}));
      if (ends) {
        is_ended_ = true;
        stream_->end();
        release();
        return;
      }
      if (is_at_end) {
        watch_unfinished();
        return;
      }
    }
  }

  // An unterminated line is soon sent as a partial line, because it may be a prompt (RUN-16).
  void watch_unfinished() {
    constexpr base::Milliseconds timeout(100);
    if (start_.is_frames || start_.is_masked || !start_.follows || is_watching_ || !has_unfinished()) return;
    is_watching_ = true;
    glance_ = daemon_.loop().at(daemon_.loop().now() + timeout, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->show_unfinished();
    });
  }

  bool has_unfinished() const {
    const auto is_unfinished = [this](std::size_t i) {
      const std::uint64_t consumed = splitters_[i]->consumed();
      return consumed != 0 && consumed < fed_[i];
    };
    return is_unfinished(0) || is_unfinished(1);
  }

  void show_unfinished() {
    is_watching_ = false;
    if (is_ended_ || stream_->is_closed() || stream_->waiting() >= max_waiting) return;
    for (const auto& splitter : splitters_) splitter->flush();
    if (!piece_.empty()) stream_->write(std::exchange(piece_, {}));
  }

  // No more output will be added.
  bool is_over_now() const {
    const runtime::LiveRun* live = daemon_.supervisor().find(start_.run);
    if (live == nullptr || live->claim().attempt != start_.attempt) return true;
    return live->output_end().has_value();
  }

  void take(const keeper::Frame& frame) {
    if (start_.is_frames) {
      const std::size_t at = piece_.size();
      piece_.resize(at + keeper::frame_header_bytes);
      keeper::write_header(frame.header,
                           std::span<char, keeper::frame_header_bytes>(piece_.data() + at, keeper::frame_header_bytes));
      piece_.append(frame.bytes);
      return;
    }
    const std::size_t i = frame.header.stream;
    if (frame.end() <= fed_[i]) return;
    const std::uint64_t position = std::max(frame.payload_position(), fed_[i]);
    if (start_.is_masked) {
      fed_[i] = frame.end();
      return take_masked(i, frame.bytes.substr(position - frame.payload_position()));
    }
    at_ = base::format_time(
        base::WallTime(std::chrono::duration_cast<base::Milliseconds>(std::chrono::nanoseconds(frame.header.unix_ns))));
    fed_[i] = frame.end();
    splitters_[i]->feed(position, frame.bytes.substr(position - frame.payload_position()));
  }

  void take_masked(std::size_t stream, std::string_view bytes) {
    if (secrets_->empty()) {
      add_frame(stream, bytes);
      return add_mark(stream);
    }
    add_frame(stream, redactors_[stream].feed(bytes));
    // Another redactor can continue at the start of a line, because no escape sequence is open there.
    if (bytes.ends_with('\n') && !redactors_[stream].holds_back()) add_mark(stream);
  }

  void add_mark(std::size_t stream) {
    std::string position;
    for (unsigned shift = 0; shift < 64; shift += 8) position += static_cast<char>(fed_[stream] >> shift & 0xffU);
    constexpr std::uint8_t mark_flag = 1;
    add_frame(stream, position, mark_flag);
  }

  void add_frame(std::size_t stream, std::string_view bytes, std::uint8_t flags = 0) {
    if (bytes.empty()) return;
    const keeper::FrameHeader header{.length = static_cast<std::uint32_t>(bytes.size()),
                                     .stream = static_cast<std::uint8_t>(stream),
                                     .flags = flags};
    const std::size_t at = piece_.size();
    piece_.resize(at + keeper::frame_header_bytes);
    keeper::write_header(header,
                         std::span<char, keeper::frame_header_bytes>(piece_.data() + at, keeper::frame_header_bytes));
    piece_.append(bytes);
  }

  void add_line(std::size_t stream, const runtime::Line& line) {
    std::string text(line.text);
    if (!secrets_->empty()) {
      text = redactors_[stream].feed(line.text);
      if (!line.is_partial) text += redactors_[stream].finish();
    }
    is_inside_[stream] = line.is_partial;
    // Resume only where no secret can be cut in two.
    if (!redactors_[stream].holds_back()) safe_[stream] = line.end;
    if (line.is_partial && text.empty()) return;
    next_[stream] = safe_[stream];
    // A stream without pending bytes resumes at the reader's position.
    const std::size_t other = 1 - stream;
    const std::uint64_t consumed = splitters_[other]->consumed();
    next_[other] = redactors_[other].holds_back()            ? safe_[other]
                   : consumed != 0 && consumed < fed_[other] ? consumed
                                                             : std::max(fed_[other], line.position);
    Value record = Value::object();
    record.set("attempt", Value::integer(start_.attempt));
    record.set("stream", Value::string(stream == 0 ? "stdout" : "stderr"));
    record.set("offset", Value::integer(static_cast<std::int64_t>(line.position)));
    record.set("next", Value::string(fmt::format("{}.{}", next_[0], next_[1])));
    record.set("at", Value::string(at_));
    if (line.is_partial) {
      record.set("partial", Value::boolean(true));
    } else {
      text += '\n';
    }
    record.set("text", Value::string(base::replace_invalid_utf8(text)));
    piece_ += json::encode(record);
    piece_ += '\n';
  }

  void release() {
    daemon_.loop().post([self = shared_from_this()] {
      self->hold_ = {};
      self->glance_ = {};
      // These callbacks and this object refer to each other.
      self->stream_->on_drained(nullptr);
      self->stream_->on_closed(nullptr);
    });
  }

  runtime::Daemon& daemon_;
  Start start_;
  os::Folder folder_;
  keeper::OutputReader reader_;
  std::shared_ptr<const base::SecretSet> secrets_;
  std::array<base::Redactor, 2> redactors_;
  std::array<std::unique_ptr<runtime::LineSplitter>, 2> splitters_;
  Place fed_;
  // For each stream, the end of the last line before any held-back bytes.
  Place safe_;
  Place next_{};
  // The last piece of the stream did not end its line.
  std::array<bool, 2> is_inside_{};
  std::string at_;
  std::string piece_;
  std::shared_ptr<Stream> stream_;
  runtime::Loop::Hold hold_;
  runtime::Loop::Hold glance_;
  bool is_watching_ = false;
  bool is_ended_ = false;
};

// There is no output here: nothing was printed, or another daemon of the same store has it.
void refuse_output(const SharedExchange& exchange, base::RunId run, int attempt) {
  exchange->daemon.queries().find_run_host(
      run, attempt, [exchange, run, attempt](const std::expected<std::optional<std::string>, Error>& host) {
        if (!host) return exchange->refuse(host.error());
        if (!*host || **host == exchange->daemon.context().host) {
          return exchange->refuse(
              Error(ErrorCode::output_not_found, fmt::format("{} has no output for attempt {}", run.text(), attempt)));
        }
        // "name:digest of the state folder"
        const std::string name = base::visible((*host)->substr(0, (*host)->rfind(':')));
        exchange->refuse(Error(ErrorCode::run_not_here,
                               fmt::format("the output of {} is with another daemon, on the host {}", run.text(), name),
                               fmt::format("read it there: reeve logs {}", run.text())));
      });
}

void send_output(SharedExchange exchange, const model::Run& run, OutputFollower::Start start) {
  runtime::Daemon& daemon = exchange->daemon;
  start.run = run.tool_run_id;
  if (start.attempt == 0) start.attempt = run.attempt;
  const runtime::LiveRun* live = daemon.supervisor().find(start.run);
  const std::string folder = runtime::run_folder(daemon.context(), start.run);
  auto secrets = live != nullptr ? live->secrets() : read_secrets(folder);
  std::shared_ptr<OutputFollower> follower;
  try {
    follower = std::make_shared<OutputFollower>(daemon, start, std::move(secrets));
  } catch (const Error&) {
    return refuse_output(exchange, start.run, start.attempt);
  }
  const bool is_binary = start.is_frames || start.is_masked;
  Response head{.content_type = is_binary ? "application/vnd.reeve.frames" : "application/x-ndjson"};
  head.headers = {{"Reeve-Attempt", std::to_string(start.attempt)},
                  {"Reeve-Offset", std::to_string(follower->position())}};
  exchange->is_answered = true;
  follower->begin(exchange->responder->begin(std::move(head)));
}

void output(SharedExchange exchange) {
  const base::RunId id = exchange->run_id();
  OutputFollower::Start start{.from = parse_place(exchange->query("from")),
                              .back = parse_back(exchange->query("from")),
                              .follows = exchange->query_flag("follow")};
  start.attempt = static_cast<int>(exchange->query_integer("attempt", 0, 0, std::numeric_limits<int>::max()));
  const std::string format = exchange->query("format").value_or("json");
  if (format != "json" && format != "frames" && format != "masked") {
    throw Error(ErrorCode::api_bad_request, "`format` must be json, frames or masked");
  }
  start.is_frames = format == "frames";
  start.is_masked = format == "masked";
  if (start.is_frames && !may_see_secrets(*exchange)) {
    throw Error(ErrorCode::api_forbidden, "frames are unredacted output, which needs the scope `operate`",
                "read it as json, or use a token with that scope");
  }
  // Frames are sent whole: one that contains `from` starts before it.
  exchange->daemon.queries().get_run(id, [exchange, start](const std::expected<model::Run, Error>& run) {
    exchange->go_on([&] {
      if (!run) throw run.error();
      send_output(exchange, *run, start);
    });
  });
}

Value output_line(json::Schemas& schemas) {
  Value whole = schemas.of<std::int64_t>();
  return schemas.add("OutputLine", json::object_schema({{"attempt", whole},
                                                        {"stream", json::word_schema({"stdout", "stderr"})},
                                                        {"offset", whole},
                                                        {"next", json::string_schema("^[0-9]+\\.[0-9]+$")},
                                                        {"at", schemas.of<base::WallTime>()},
                                                        {"partial", schemas.of<bool>()},
                                                        {"text", json::string_schema()}},
                                                       {"attempt", "stream", "offset", "next", "at", "text"}));
}

}  // namespace

std::vector<Operation> output_operations(json::Schemas& schemas) {
  return {{.method = "GET",
           .path = "/api/runs/{id}/output",
           .handle = output,
           .name = "readRunOutput",
           .inside = InRunAccess::own_run,
           .summary = "Read the run's output, line by line with secrets redacted, or in frames",
           .query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the latest"),
                     {"from", json::string_schema("^(-?[0-9]+|[0-9]+\\.[0-9]+)$"),
                      "a `next` from an earlier response; negative: that many bytes before the end"},
                     flag_parameter("follow", "1: keep streaming until the attempt ends"),
                     {"format", json::word_schema({"json", "frames", "masked"}),
                      "default: json; frames: byte for byte; masked: frames with secrets redacted"}},
           .replies = {{200, output_line(schemas), "application/x-ndjson"},
                       {200, json::string_schema(), "application/vnd.reeve.frames"}},
           .errors = {ErrorCode::run_not_found, ErrorCode::output_not_found, ErrorCode::run_not_here}}};
}

}  // namespace reeve::server
