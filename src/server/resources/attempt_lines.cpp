#include "server/resources/attempt_lines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/quantity.h"
#include "base/text.h"
#include "keeper/packing.h"
#include "os/file.h"

namespace reeve::server {

using base::Error;
using base::ErrorCode;
using base::Value;

std::shared_ptr<const base::SecretSet> find_output_secrets(runtime::Daemon& daemon, base::RunId run) {
  if (const runtime::LiveRun* live = daemon.supervisor().find(run)) return live->secrets();
  std::vector<std::string> values;
  // Without the file, no secrets were printed.
  const std::string file = runtime::run_folder(daemon.context(), run) + "/secrets";
  if (const auto packed = os::find_file(file, base::limits::json_bytes)) keeper::Unpacker(*packed).get(values);
  return runtime::prepare_secrets(values);
}

bool is_output_over(runtime::Daemon& daemon, base::RunId run, int attempt) {
  const runtime::LiveRun* live = daemon.supervisor().find(run);
  if (live == nullptr || live->claim().attempt != attempt) return true;
  return live->output_end().has_value();
}

runtime::LineSelection::Terms parse_line_terms(const Exchange& exchange) {
  runtime::LineSelection::Terms terms;
  if (const auto word = exchange.query("grep")) {
    auto pattern = runtime::LinePattern::make(*word);
    if (!pattern) {
      throw Error(ErrorCode::api_bad_request,
                  fmt::format("`grep` is not a valid regular expression: {}", base::visible(pattern.error())),
                  "the syntax is that of RE2: https://github.com/google/re2/wiki/Syntax");
    }
    terms.grep = std::make_shared<const runtime::LinePattern>(std::move(*pattern));
  }
  if (const auto word = exchange.query("since")) {
    const auto age = base::parse_duration(*word);
    terms.since = age ? std::optional(base::SystemClock().wall_now() - *age) : base::parse_time(*word);
    if (!terms.since) {
      throw Error(ErrorCode::api_bad_request, fmt::format("{} is not a valid value for `since`", base::quoted(*word)),
                  "use a duration (10m, 2h) or a time (2026-01-31T14:30:00Z)");
    }
  }
  const auto most = static_cast<std::int64_t>(runtime::LineSelection::max_tail);
  if (exchange.query("tail")) terms.tail = static_cast<std::size_t>(exchange.query_integer("tail", 1, 1, most));
  return terms;
}

std::vector<Parameter> line_terms_parameters() {
  constexpr auto most = static_cast<std::int64_t>(runtime::LineSelection::max_tail);
  return {text_parameter("grep", "only lines in which this regular expression (RE2) matches, after redaction"),
          text_parameter("since", "only lines since then: a duration (10m) or a time (RFC 3339)"),
          integer_parameter("tail", 1, most, "only the last lines that there are; with `follow`, and all that follow")};
}

base::Value output_line_schema(json::Schemas& schemas, base::Value::Object more) {
  Value whole = schemas.of<std::int64_t>();
  base::Value::Object members = {{"attempt", whole},
                                 {"stream", json::word_schema({"stdout", "stderr"})},
                                 {"offset", whole},
                                 {"next", json::string_schema("^[0-9]+\\.[0-9]+$")},
                                 {"at", schemas.of<base::WallTime>()},
                                 {"partial", schemas.of<bool>()},
                                 {"text", json::string_schema()}};
  for (base::Member& member : more) members.push_back(std::move(member));
  return json::object_schema(std::move(members), {"attempt", "stream", "offset", "next", "at", "text"});
}

AttemptLines::AttemptLines(runtime::Daemon& daemon, const Start& start, std::shared_ptr<const base::SecretSet> secrets,
                           Take take)
    : attempt_(start.attempt),
      folder_(os::Folder::open(runtime::attempt_folder(daemon.context(), start.run, start.attempt))),
      reader_(folder_),
      secrets_(std::move(secrets)),
      take_(std::move(take)),
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
    splitters_[i] = std::make_unique<runtime::LineSplitter>([this, i](const runtime::Line& line) { add(i, line); });
  }
}

bool AttemptLines::read() {
  const auto frame = reader_.next();
  if (!frame) return false;
  const std::size_t i = frame->header.stream;
  if (frame->end() <= fed_[i]) return true;
  const std::uint64_t position = std::max(frame->payload_position(), fed_[i]);
  at_ = base::WallTime(std::chrono::duration_cast<base::Milliseconds>(std::chrono::nanoseconds(frame->header.unix_ns)));
  fed_[i] = frame->end();
  splitters_[i]->feed(position, frame->bytes.substr(position - frame->payload_position()));
  return true;
}

void AttemptLines::flush() {
  for (const auto& splitter : splitters_) splitter->flush();
}

bool AttemptLines::has_unfinished() const {
  const auto is_unfinished = [this](std::size_t i) {
    const std::uint64_t consumed = splitters_[i]->consumed();
    return consumed != 0 && consumed < fed_[i];
  };
  return is_unfinished(0) || is_unfinished(1);
}

void AttemptLines::finish() {
  for (const auto& splitter : splitters_) splitter->finish();
  // Ends a line of which only a part was sent.
  for (const std::size_t i : {0UL, 1UL}) {
    if (is_inside_[i]) add(i, {.position = fed_[i], .text = {}, .is_continuation = true, .end = fed_[i]});
  }
}

void AttemptLines::add(std::size_t stream, const runtime::Line& line) {
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
  record.set("attempt", Value::integer(attempt_));
  record.set("stream", Value::string(stream == 0 ? "stdout" : "stderr"));
  record.set("offset", Value::integer(static_cast<std::int64_t>(line.position)));
  record.set("next", Value::string(fmt::format("{}.{}", next_[0], next_[1])));
  record.set("at", Value::string(base::format_time(at_)));
  if (line.is_partial) {
    record.set("partial", Value::boolean(true));
  } else {
    text += '\n';
  }
  text = base::replace_invalid_utf8(text);
  record.set("text", Value::string(text));
  take_({.at = at_, .text = std::move(text), .record = std::move(record)});
}

}  // namespace reeve::server
