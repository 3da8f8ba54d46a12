#include "runtime/runs/stdin_streams.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "runtime/runs/stdin_file.h"

namespace reeve::runtime {

namespace {

using base::Error;
using base::ErrorCode;

// Pieces of one stream that wait for the file: a client sends one at a time.
constexpr std::size_t max_waiting = 16;

Error no_stream(base::RunId run) {
  return {ErrorCode::run_no_input, fmt::format("{} takes no standard input", run.text()),
          "start it with standard input, or with --pty to type into it"};
}

}  // namespace

StdinStreams::Stream* StdinStreams::find_stream(base::RunId run) {
  const auto known = streams_.find(run);
  if (known != streams_.end()) return &known->second;
  const auto head = read_stdin_head(run_folder(context_, run));
  return head ? &streams_.emplace(run, Stream{.head = *head}).first->second : nullptr;
}

StdinStreams::Place StdinStreams::place_of(const Stream& stream) {
  return {.position = stream.head.written,
          .limit = std::max(stream.head.written, stream.read + keeper::stdin_bytes),
          .has_ended = stream.head.has_ended};
}

std::optional<StdinStreams::Place> StdinStreams::find(base::RunId run) {
  const Stream* stream = find_stream(run);
  return stream != nullptr ? std::optional(place_of(*stream)) : std::nullopt;
}

void StdinStreams::write(base::RunId run, Piece piece, Answer answer) {
  Stream* stream = find_stream(run);
  if (stream == nullptr) return answer(std::unexpected(no_stream(run)));
  if (stream->is_writing) {
    if (stream->waiting.size() >= max_waiting) {
      return answer(std::unexpected(Error(ErrorCode::store_busy, "too many pieces wait to be written")));
    }
    stream->waiting.emplace_back([this, run, piece = std::move(piece), answer = std::move(answer)]() mutable {
      write(run, std::move(piece), std::move(answer));
    });
    return;
  }
  const Place place = place_of(*stream);
  const std::uint64_t end = piece.offset + piece.bytes.size();
  const bool is_known = end <= place.position && (place.has_ended || !piece.is_end);
  if (is_known) return answer(place);
  if (piece.offset > place.position || place.has_ended) {
    return answer(std::unexpected(
        Error(ErrorCode::run_no_input,
              place.has_ended ? fmt::format("the standard input of {} has ended", run.text())
                              : fmt::format("the standard input of {} continues at {}", run.text(), place.position),
              "send it from where it stopped")));
  }
  piece.bytes.erase(
      0, static_cast<std::size_t>(std::min<std::uint64_t>(place.position - piece.offset, piece.bytes.size())));
  const auto room = static_cast<std::size_t>(place.limit - place.position);
  if (piece.bytes.size() > room) {
    piece.bytes.resize(room);
    piece.is_end = false;
  }
  if (piece.bytes.empty() && !piece.is_end) return answer(place);
  store(run, *stream, std::move(piece), std::move(answer));
}

void StdinStreams::store(base::RunId run, Stream& stream, Piece piece, Answer answer) {
  struct Pending {
    Piece piece;
    Answer answer;
    StdinWrite result = {};
  };
  stream.is_writing = true;
  std::shared_ptr<Pending> pending = context_.loop.make<Pending>(std::move(piece), std::move(answer));
  const auto finish = [this, run](Pending& written) {
    const auto found = streams_.find(run);
    // The run has ended meanwhile.
    if (found == streams_.end()) return written.answer(std::unexpected(no_stream(run)));
    Stream& stream = found->second;
    stream.is_writing = false;
    auto waiting = std::exchange(stream.waiting, {});
    const StdinWrite& result = written.result;
    if (result.error_number == 0) {
      stream.head = result.head;
      if (stream.head.has_ended) absences_.erase(run);
      const Place place = place_of(stream);
      if (!place.has_ended) expect_sender(run);
      hooks_.grew(run);
      written.answer(place);
    } else {
      stream.head.is_whole = result.head.is_whole;
      written.answer(std::unexpected(Error(ErrorCode::run_unwritable,
                                           fmt::format("cannot store the standard input of {}: {}", run.text(),
                                                       std::generic_category().message(result.error_number)),
                                           "is the disk full, or the state folder not writable?")));
    }
    for (const Loop::Task& next : waiting) next();
  };
  writer_.submit([&loop = context_.loop, folder = run_folder(context_, run), head = stream.head,
                  pending = std::move(pending), alive = std::weak_ptr(alive_), finish]() mutable {
    pending->result = append_stdin(folder, head, pending->piece.bytes, pending->piece.is_end);
    loop.post([pending = std::move(pending), alive, finish] {
      if (!alive.expired()) finish(*pending);
    });
  });
}

Loop::Hold StdinStreams::attach(base::RunId run, std::function<void()> changed) {
  absences_.erase(run);
  auto entry = std::make_shared<Loop::Hold>(senders_.add(run, std::move(changed)));
  return {context_.loop, [this, run, entry, alive = std::weak_ptr(alive_)] {
            *entry = {};
            if (!alive.expired()) expect_sender(run);
          }};
}

void StdinStreams::expect_sender(base::RunId run) {
  const Stream* stream = find_stream(run);
  if (stream == nullptr || stream->head.has_ended || has_sender(run)) return;
  absences_.insert_or_assign(run, context_.loop.at(context_.loop.now() + context_.supervision.adopt_grace,
                                                   [this, run] { check_sender(run); }));
}

void StdinStreams::check_sender(base::RunId run) {
  absences_.erase(run);
  const Stream* stream = find_stream(run);
  if (stream == nullptr || stream->head.has_ended || has_sender(run)) return;
  // Without any data, the tool reads the same as without standard input.
  if (stream->head.written == 0) return write(run, {.is_end = true}, [](const auto&) {});
  hooks_.broke_off(run);
}

keeper::StdinGrew StdinStreams::begin_attempt(base::RunId run) {
  Stream* stream = find_stream(run);
  // Without its file, the keeper does not start the tool.
  if (stream == nullptr) return {};
  stream->read = 0;
  expect_sender(run);
  return {.written = stream->head.written, .has_ended = stream->head.has_ended};
}

void StdinStreams::end_attempt(base::RunId run) {
  const auto found = streams_.find(run);
  if (found != streams_.end()) found->second.read = 0;
}

void StdinStreams::on_read(base::RunId run, std::uint64_t position) {
  const auto found = streams_.find(run);
  if (found == streams_.end() || position > found->second.head.written) return;
  found->second.read = std::max(found->second.read, position);
  notify(run);
}

std::optional<std::string> StdinStreams::find_rerun_refusal(base::RunId run) {
  const Stream* stream = find_stream(run);
  if (stream == nullptr) return "its standard input is gone";
  if (!stream->head.is_whole) return "its standard input was longer than the 16 MiB that are kept";
  if (!stream->head.has_ended && !has_sender(run))
    return "its standard input broke off: the client that sent it is gone";
  return std::nullopt;
}

bool StdinStreams::is_empty(base::RunId run) {
  const Stream* stream = find_stream(run);
  return stream != nullptr && stream->head.written == 0 && !stream->is_writing;
}

void StdinStreams::close(base::RunId run) {
  absences_.erase(run);
  const auto found = streams_.find(run);
  if (found == streams_.end()) return;
  const auto waiting = std::move(found->second.waiting);
  streams_.erase(found);
  // They find no stream.
  for (const Loop::Task& one : waiting) one();
  notify(run);
}

void StdinStreams::notify(base::RunId run) {
  for (const auto& changed : senders_.find(run)) changed();
}

}  // namespace reeve::runtime
