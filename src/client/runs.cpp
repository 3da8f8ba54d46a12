#include "client/runs.h"

#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/quantity.h"
#include "base/text.h"
#include "client/frames.h"
#include "client/pages.h"
#include "client/refusal.h"
#include "json/fields.h"

namespace reeve::client {

namespace {

using base::Value;

std::string path_of(base::RunId id, std::string_view rest = {}) {
  return fmt::format("/api/runs/{}{}", id.text(), rest);
}

RunRecord make_record(Value wire) {
  auto run = decode<model::Run>(wire);
  return {.wire = std::move(wire), .run = std::move(run)};
}

std::string listing_of(const std::vector<std::string>& statuses, const std::optional<std::string>& project) {
  std::string target = "/api/runs?";
  if (project) target += fmt::format("project={}&", encode_part(*project));
  if (!statuses.empty()) target += fmt::format("status={}&", base::join(statuses, ","));
  return target;
}

std::optional<std::uint64_t> offset_of(const Response& head) {
  const auto text = head.header("Reeve-Offset");
  std::uint64_t offset = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), offset);
  return error == std::errc() ? std::optional(offset) : std::nullopt;
}

}  // namespace

RunRecord create_run(Daemon& daemon, const Value& request) { return make_record(daemon.post("/api/runs", request)); }

RunRecord get_run(Daemon& daemon, base::RunId id) { return make_record(daemon.get(path_of(id))); }

ProcessRecord find_process(Daemon& daemon, base::RunId id) {
  try {
    Value wire = daemon.get(path_of(id, "/process"));
    auto process = decode<wire::RunProcess>(wire);
    return {.wire = std::move(wire), .process = std::move(process), .elsewhere = {}};
  } catch (const Refusal& refusal) {
    ProcessRecord none{.wire = Value(), .process = {}, .elsewhere = {}};
    if (refusal.is(base::ErrorCode::run_not_here)) none.elsewhere = refusal;
    // It has ended, or the daemon is older.
    if (refusal.status() == 409 || refusal.status() == 404) return none;
    throw;
  }
}

std::vector<RunRecord> list_runs(Daemon& daemon, const std::vector<std::string>& statuses, std::size_t limit,
                                 const std::optional<std::string>& project) {
  std::vector<RunRecord> records;
  read_pages(daemon, listing_of(statuses, project), limit,
             [&](const Value& item) { records.push_back(make_record(item)); });
  return records;
}

std::vector<RunRecord> find_runs(Daemon& daemon, const std::vector<std::string>& statuses,
                                 const std::optional<std::string>& project, const RunSearch& search) {
  std::vector<RunRecord> records;
  read_pages_while(daemon, listing_of(statuses, project), {.limit = search.searched, .first = 2 * search.wanted},
                   [&](const Value& item) {
                     RunRecord record = make_record(item);
                     if (search.is_wanted(record.run)) records.push_back(std::move(record));
                     return records.size() < search.wanted;
                   });
  return records;
}

RunRecord cancel_run(Daemon& daemon, base::RunId id, const Cancel& cancel) {
  Value body = Value::object();
  if (cancel.reason) body.set("reason", Value::string(*cancel.reason));
  if (cancel.kill) body.set("kill", Value::boolean(true));
  return make_record(daemon.post(path_of(id, "/cancel"), body));
}

RunRecord dismiss_run(Daemon& daemon, base::RunId id) {
  return make_record(daemon.post(path_of(id, "/seen"), Value::object()));
}

void dismiss_failures(Daemon& daemon, const std::optional<std::string>& project) {
  Value body = Value::object();
  if (project) body.set("project", Value::string(*project));
  daemon.post("/api/failures/seen", body);
}

RunRecord rerun(Daemon& daemon, base::RunId id, const Value& request) {
  return make_record(daemon.post(path_of(id, "/rerun"), request));
}

RunRecord pause_run(Daemon& daemon, base::RunId id) {
  return make_record(daemon.post(path_of(id, "/pause"), Value::object()));
}

RunRecord resume_run(Daemon& daemon, base::RunId id) {
  return make_record(daemon.post(path_of(id, "/resume"), Value::object()));
}

RunRecord limit_run(Daemon& daemon, base::RunId id, const wire::RunLimits& limits) {
  Value body = Value::object();
  if (limits.timeout) body.set("timeout", Value::string(base::format_time_limit(*limits.timeout)));
  if (limits.no_output_timeout) {
    body.set("no_output_timeout", Value::string(base::format_time_limit(*limits.no_output_timeout)));
  }
  return make_record(daemon.post(path_of(id, "/limits"), body));
}

RunRecord wait_run(Daemon& daemon, base::RunId id, Until until, base::Milliseconds time) {
  return make_record(daemon.get(
      path_of(id, fmt::format("/wait?timeout={}&through_approvals={}&through_queue={}", base::format_duration(time),
                              until == Until::final_or_waiting ? 0 : 1, until == Until::begun ? 0 : 1))));
}

void send_input(Daemon& daemon, base::RunId id, std::string_view bytes) {
  Value body = Value::object();
  body.set("base64", Value::string(base::encode_base64(bytes)));
  daemon.post(path_of(id, "/input"), body);
}

StdinPlace read_stdin_place(const Value& document) {
  const auto position = json::integer_of(document, "position");
  const auto limit = json::integer_of(document, "limit");
  const Value* has_ended = document.find("has_ended");
  const bool is_whole =
      position && limit && *position >= 0 && *limit >= 0 && has_ended != nullptr && has_ended->as_bool() != nullptr;
  if (!is_whole) throw_bad_answer("no position in the standard input");
  return {static_cast<std::uint64_t>(*position), static_cast<std::uint64_t>(*limit), *has_ended->as_bool()};
}

std::string stdin_path(base::RunId id) { return path_of(id, "/stdin"); }

StdinPlace send_stdin(Daemon& daemon, base::RunId id, const StdinPiece& piece) {
  Value body = Value::object();
  body.set("offset", Value::integer(static_cast<std::int64_t>(piece.offset)));
  if (!piece.bytes.empty()) body.set("base64", Value::string(base::encode_base64(piece.bytes)));
  if (piece.is_end) body.set("end", Value::boolean(true));
  return read_stdin_place(daemon.post(stdin_path(id), body));
}

void resize_run(Daemon& daemon, base::RunId id, int rows, int columns) {
  Value body = Value::object();
  body.set("rows", Value::integer(rows));
  body.set("columns", Value::integer(columns));
  daemon.post(path_of(id, "/resize"), body);
}

namespace {

void follow_frames(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap,
                   const OutputTerms& terms) {
  FrameDecoder decoder(0);
  const auto question = [&] {
    return Request{.target = path_of(id, fmt::format("/output?attempt={}&from={}&follow=1&format=frames", place.attempt,
                                                     place.offset))};
  };
  const auto begin = [&](const Response& head) {
    const std::uint64_t wanted = place.offset > 0 ? static_cast<std::uint64_t>(place.offset) : 0;
    const std::uint64_t first = offset_of(head).value_or(wanted);
    if (first > wanted && place.offset >= 0) gap(first - wanted);
    place.offset = static_cast<std::int64_t>(first);
    decoder = FrameDecoder(first);
  };
  const auto take = [&](std::string_view bytes) {
    decoder.add(bytes);
    while (const auto frame = decoder.next()) {
      if (!write(frame->stream, frame->bytes)) return false;
      place.offset = static_cast<std::int64_t>(decoder.position());
    }
    return true;
  };
  daemon.follow({.question = question, .begin = begin, .take = take, .is_over = terms.is_over});
}

// Masked text has no positions of its own: after a lost connection it is requested from the last mark, and the part
// that was already written is skipped.
void follow_masked(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap,
                   const OutputTerms& terms) {
  FrameDecoder decoder(0);
  std::array<std::uint64_t, 2> skipped{};
  const auto question = [&] {
    const std::string from = place.masked ? fmt::format("{}.{}", place.masked->at(0).from, place.masked->at(1).from)
                                          : fmt::format("{}", place.offset);
    return Request{
        .target = path_of(id, fmt::format("/output?attempt={}&from={}&follow=1&format=masked", place.attempt, from))};
  };
  const auto begin = [&](const Response& head) {
    decoder = FrameDecoder(0);
    const std::uint64_t wanted = place.offset > 0 ? static_cast<std::uint64_t>(place.offset) : 0;
    const bool is_first = !place.masked;
    if (is_first) {
      const std::uint64_t first = offset_of(head).value_or(wanted);
      if (first > wanted && place.offset >= 0) gap(first - wanted);
      place.masked.emplace();
      for (MaskedPlace& stream : *place.masked) stream.from = first;
    }
    const std::uint64_t least = std::min(place.masked->at(0).from, place.masked->at(1).from);
    const std::uint64_t first = offset_of(head).value_or(least);
    if (!is_first && first > least) {
      gap(first - least);
      for (MaskedPlace& stream : *place.masked) {
        if (stream.from < first) stream = {.from = first};
      }
    }
    for (std::size_t i = 0; i < skipped.size(); ++i) skipped[i] = place.masked->at(i).written;
  };
  const auto take = [&](std::string_view bytes) {
    decoder.add(bytes);
    while (const auto frame = decoder.next()) {
      const std::size_t i = frame->stream == model::Stream::out ? 0 : 1;
      MaskedPlace& stream = place.masked->at(i);
      if (frame->mark) {
        stream = {.from = *frame->mark};
        skipped[i] = 0;
        continue;
      }
      const std::size_t known = std::min<std::size_t>(skipped[i], frame->bytes.size());
      skipped[i] -= known;
      const std::string_view rest = frame->bytes.substr(known);
      if (!rest.empty() && !write(frame->stream, rest)) return false;
      stream.written += rest.size();
    }
    return true;
  };
  daemon.follow({.question = question, .begin = begin, .take = take, .is_over = terms.is_over});
}

}  // namespace

void follow_output(Daemon& daemon, base::RunId id, OutputPlace& place, const WriteOutput& write, const NoteGap& gap,
                   const OutputTerms& terms) {
  const bool is_masked = terms.form == OutputForm::masked;
  (is_masked ? follow_masked : follow_frames)(daemon, id, place, write, gap, terms);
}

}  // namespace reeve::client
