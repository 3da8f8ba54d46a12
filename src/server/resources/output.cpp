#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "json/encode.h"
#include "keeper/output_reader.h"
#include "runtime/daemon.h"
#include "server/access/project_policy.h"
#include "server/request/exchange.h"
#include "server/resources/attempt_frames.h"
#include "server/resources/attempt_lines.h"
#include "server/resources/contract.h"
#include "server/resources/missing_output.h"
#include "server/resources/terminal.h"

// /api/runs/*/output: a tool's output, as stored frames or redacted line by line.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::size_t max_waiting = 1UL << 20U;
constexpr std::size_t piece_bytes = 256UL << 10U;
// Read in one turn of the loop.
constexpr std::uint64_t turn_bytes = 1UL << 20U;

// "-65536": that far before the current end, at the start of a frame.
std::optional<std::uint64_t> parse_back(const std::optional<std::string>& text) {
  std::uint64_t back = 0;
  if (!text || !text->starts_with('-')) return std::nullopt;
  const char* end = text->data() + text->size();
  const auto read = std::from_chars(text->data() + 1, end, back);
  return read.ec == std::errc() && read.ptr == end ? std::optional(back) : std::nullopt;
}

OutputPosition parse_place(const std::optional<std::string>& text) {
  if (!text || parse_back(text)) return {0, 0};
  OutputPosition place{};
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

// A client that reads the output of one attempt.
class OutputFollower : public std::enable_shared_from_this<OutputFollower> {
 public:
  struct Start {
    AttemptLines::Start of;
    bool follows = false;
    // Stored frames, or frames of the same kind with secrets masked; otherwise lines.
    bool is_frames = false;
    bool is_masked = false;
    runtime::LineSelection::Terms terms = {};
  };
  OutputFollower(runtime::Daemon& daemon, const Start& start)
      : daemon_(daemon), start_(start), selection_(start.terms) {
    if (start_.is_frames || start_.is_masked) {
      auto secrets = start_.is_masked ? find_output_secrets(daemon, start.of.run) : nullptr;
      frames_ = std::make_unique<AttemptFrames>(daemon, start.of, std::move(secrets));
    } else {
      lines_ = std::make_unique<AttemptLines>(
          daemon, start.of, find_output_secrets(daemon, start.of.run),
          [this](const OutputLine& line) { selection_.add(line.at, line.text, json::encode(line.record)); });
    }
  }

  std::uint64_t position() const { return frames_ ? frames_->position() : lines_->position(); }

  void begin(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    if (start_.follows) {
      hold_ = daemon_.supervisor().follow_output(start_.of.run, [self = weak_from_this()] {
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
      const bool is_over = is_output_over(daemon_, start_.of.run, start_.of.attempt);
      const std::uint64_t begin = position();
      bool is_at_end = false;
      // Lines that are not wanted fill no piece, and others wait for the loop.
      while (!is_at_end && pending() < piece_bytes && position() - begin < turn_bytes) is_at_end = !read();
      const bool ends = is_at_end && (is_over || !start_.follows);
      if (ends) finish();
      if (is_at_end) selection_.reach_end();
      send();
      if (ends) {
        is_ended_ = true;
        stream_->end();
        release();
        return;
      }
      if (is_at_end) return watch_unfinished();
      if (position() - begin >= turn_bytes) return pump_later();
    }
  }

  void pump_later() {
    daemon_.loop().post([self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->pump();
    });
  }

  bool read() { return frames_ ? frames_->read() : lines_->read(); }

  void finish() {
    if (frames_) frames_->finish();
    if (lines_) lines_->finish();
  }

  std::size_t pending() const { return frames_ ? frames_->pending() : selection_.pending(); }

  void send() {
    std::string bytes = frames_ ? frames_->take() : selection_.take();
    if (!bytes.empty()) stream_->write(std::move(bytes));
  }

  // An unterminated line is soon sent as a partial line, because it may be a prompt (RUN-16).
  void watch_unfinished() {
    constexpr base::Milliseconds timeout(100);
    const bool may_split = lines_ && start_.follows && !selection_.needs_whole_lines();
    if (!may_split || is_watching_ || !lines_->has_unfinished()) return;
    is_watching_ = true;
    glance_ = daemon_.loop().at(daemon_.loop().now() + timeout, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->show_unfinished();
    });
  }

  void show_unfinished() {
    is_watching_ = false;
    if (is_ended_ || stream_->is_closed() || stream_->waiting() >= max_waiting) return;
    lines_->flush();
    send();
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
  runtime::LineSelection selection_;
  // One of these.
  std::unique_ptr<AttemptFrames> frames_;
  std::unique_ptr<AttemptLines> lines_;
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
        MissingOutput missing(run.text(), may_name_paths(*exchange));
        missing.add(run, **host);
        exchange->refuse(missing.describe());
      });
}

void send_output(SharedExchange exchange, const model::Run& run, OutputFollower::Start start) {
  runtime::Daemon& daemon = exchange->daemon;
  start.of.run = run.tool_run_id;
  if (start.of.attempt == 0) start.of.attempt = run.attempt;
  std::shared_ptr<OutputFollower> follower;
  try {
    follower = std::make_shared<OutputFollower>(daemon, start);
  } catch (const Error&) {
    return refuse_output(exchange, start.of.run, start.of.attempt);
  }
  const bool is_binary = start.is_frames || start.is_masked;
  Response head{.content_type = is_binary ? "application/vnd.reeve.frames" : "application/x-ndjson"};
  head.headers = {{"Reeve-Attempt", std::to_string(start.of.attempt)},
                  {"Reeve-Offset", std::to_string(follower->position())}};
  exchange->is_answered = true;
  follower->begin(exchange->responder->begin(std::move(head)));
}

void output(SharedExchange exchange) {
  const base::RunId id = exchange->run_id();
  OutputFollower::Start start{
      .of = {.from = parse_place(exchange->query("from")), .back = parse_back(exchange->query("from"))},
      .follows = exchange->query_flag("follow"),
      .terms = parse_line_terms(*exchange)};
  start.of.attempt = static_cast<int>(exchange->query_integer("attempt", 0, 0, std::numeric_limits<int>::max()));
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
  if (format != "json" && (start.terms.grep || start.terms.since || start.terms.tail)) {
    throw Error(ErrorCode::api_bad_request, "`grep`, `since` and `tail` select lines, not frames", "use format=json");
  }
  // Frames are sent whole: one that contains `from` starts before it.
  exchange->daemon.queries().get_run(id, [exchange, start](const std::expected<model::Run, Error>& run) {
    exchange->go_on([&] {
      if (!run) throw run.error();
      send_output(exchange, *run, start);
    });
  });
}

}  // namespace

std::vector<Operation> output_operations(json::Schemas& schemas) {
  std::vector<Parameter> query = {integer_parameter("attempt", 0, std::numeric_limits<int>::max(), "0: the latest"),
                                  {"from", json::string_schema("^(-?[0-9]+|[0-9]+\\.[0-9]+)$"),
                                   "a `next` from an earlier response; negative: that many bytes before the end"},
                                  flag_parameter("follow", "1: keep streaming until the attempt ends"),
                                  {"format", json::word_schema({"json", "frames", "masked"}),
                                   "default: json; frames: byte for byte; masked: frames with secrets redacted"}};
  for (Parameter& more : line_terms_parameters()) query.push_back(std::move(more));
  return {{.method = "GET",
           .path = "/api/runs/{id}/output",
           .handle = output,
           .name = "readRunOutput",
           .inside = InRunAccess::own_run,
           .summary = "Read the run's output, line by line with secrets redacted, or in frames",
           .query = std::move(query),
           .replies = {{200, schemas.add("OutputLine", output_line_schema(schemas, {})), "application/x-ndjson"},
                       {200, json::string_schema(), "application/vnd.reeve.frames"}},
           .errors = {ErrorCode::run_not_found, ErrorCode::output_not_found, ErrorCode::run_not_here}}};
}

}  // namespace reeve::server
