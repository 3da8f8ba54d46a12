#include "runtime/output/log_thread.h"

#include <algorithm>
#include <array>
#include <sys/resource.h>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"
#include "keeper/output_reader.h"
#include "keeper/packing.h"
#include "os/beneath.h"
#include "runtime/output/combined_log.h"
#include "runtime/output/line_splitter.h"
#include "runtime/output/log_line.h"
#include "runtime/output/redact_event.h"
#include "runtime/output/tool_line_calls.h"
#include "runtime/output/tool_line_failure.h"

namespace reeve::runtime {

namespace {

// Read from one run before the next gets its turn.
constexpr std::size_t turn_bytes = 1UL << 20U;
// Limit on output read but not stored, which the next daemon must read and compare again after a crash.
constexpr std::uint64_t max_unstored = 4ULL << 20U;
constexpr std::size_t tail_bytes = 64UL << 20U;
// How far an unterminated line may lag behind the read position.
constexpr std::uint64_t max_pending = 1ULL << 20U;
// A nice value: about a third of a tool's CPU share when both compete.
constexpr int politeness = 5;
constexpr std::size_t max_questions = 64;
constexpr std::size_t max_tool_errors = 64;
constexpr std::chrono::milliseconds retry_pause(200);

std::size_t index_of(model::Stream stream) { return stream == model::Stream::out ? 0 : 1; }

void merge_event(OutputBatch& batch, ToolEvent event) {
  if (std::holds_alternative<Heartbeat>(event)) {
    batch.has_heartbeat = true;
  } else if (auto* error = std::get_if<ErrorReport>(&event)) {
    batch.last_error = std::move(error->message);
    batch.has_failure_marker = batch.has_failure_marker || error->fatal;
  } else if (auto* question = std::get_if<Question>(&event)) {
    if (batch.questions.size() < max_questions) {
      batch.questions.push_back(std::move(*question));
    } else {
      ++batch.more_questions;
    }
  } else if (auto* progress = std::get_if<model::Progress>(&event)) {
    batch.progress = std::move(*progress);
  } else if (const auto* usage = std::get_if<model::Usage>(&event)) {
    model::Usage sum = batch.usage.value_or(model::Usage{});
    sum.input_tokens += usage->input_tokens;
    sum.output_tokens += usage->output_tokens;
    if (usage->cost_usd) sum.cost_usd = sum.cost_usd.value_or(0) + *usage->cost_usd;
    batch.usage = sum;
  } else if (auto* report = std::get_if<Report>(&event)) {
    batch.report = std::move(*report);
  } else if (auto* tool_error = std::get_if<ToolUseError>(&event)) {
    if (batch.tool_errors.size() < max_tool_errors) batch.tool_errors.push_back(std::move(*tool_error));
  }
}

}  // namespace

bool OutputBatch::has_effect() const noexcept {
  return has_heartbeat || has_failure_marker || last_error || progress || usage || report || !questions.empty() ||
         !tool_errors.empty();
}

struct LogThread::File {
  CombinedLog log;
};

struct LogThread::Command {
  enum class Kind { open, grew, finish, close, stored, taken, write } kind;
  base::RunId run{0};
  std::uint64_t position = 0;
  std::unique_ptr<OutputFeedStart> start = {};
  std::string lines = {};
};

// The reader of one attempt.
struct LogThread::OutputFeed {
  OutputFeedStart start;
  os::Folder folder;
  keeper::OutputReader reader;
  FailureMarkers markers;
  OutputLineWriter writer;
  // By stream.
  std::array<std::unique_ptr<LineSplitter>, 2> splitters;
  std::array<base::Redactor, 2> redactors;
  std::array<std::uint64_t, 2> offsets;
  // Position after the last byte given to each splitter.
  std::array<std::uint64_t, 2> fed;
  // Lines that begin before this were logged before the last crash.
  std::array<std::uint64_t, 2> logged{};
  bool has_noted_secrets = false;
  ToolCalls calls;

  OutputBatch batch;
  std::string text;
  std::string timestamp;
  std::uint64_t stored = 0;
  // Position of the batch whose calls are being stored.
  std::optional<std::uint64_t> calls_until;
  std::optional<std::uint64_t> output_end;
  bool is_asked = false;
  bool is_done = false;

  OutputFeed(OutputFeedStart begun, os::Folder opened)
      : start(std::move(begun)),
        folder(std::move(opened)),
        reader(folder),
        markers(start.failure_markers),
        writer(start.tool, start.run, start.execution, start.attempt),
        redactors{base::Redactor(*start.secrets), base::Redactor(*start.secrets)},
        offsets{start.out_offset, start.err_offset},
        fed(offsets),
        stored(std::min(start.out_offset, start.err_offset)) {}

  std::uint64_t position() const { return std::min(offsets[0], offsets[1]); }
  bool must_wait() const { return calls_until || (!output_end && position() > stored + max_unstored); }
  void note_secrets();
  void note_call(const Line& line, ToolCall call);
};

// Called when a line was redacted. Saves all secrets, because it is not always clear which one was printed in part.
void LogThread::OutputFeed::note_secrets() {
  if (has_noted_secrets || start.secrets_file.empty()) return;
  has_noted_secrets = true;
  const std::size_t slash = start.secrets_file.rfind('/');
  try {
    os::Folder::open(start.secrets_file.substr(0, slash))
        .replace_file(start.secrets_file.substr(slash + 1), keeper::Packer().put(start.secret_values).bytes());
  } catch (const base::Error&) {
    // Retried next time.
    has_noted_secrets = false;
  }
}

void LogThread::OutputFeed::note_call(const Line& line, ToolCall call) {
  if (batch.calls.size() >= OutputBatch::max_calls) {
    ++batch.more_calls;
    return;
  }
  std::string id = call.id ? std::move(*call.id) : "line-" + std::to_string(line.end);
  batch.calls.push_back({std::move(id), std::move(call.tool), std::move(call.arguments), line.end});
}

LogThread::LogThread(Options options) : options_(std::move(options)) {
  file_ = std::make_unique<File>(CombinedLog(options_.path, options_.settings));
  read_log_tail();
  thread_ = std::thread([this] { run(); });
}

LogThread::~LogThread() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void LogThread::open(OutputFeedStart start) {
  const base::RunId run = start.run;
  const std::lock_guard lock(mutex_);
  commands_.push_back(
      {.kind = Command::Kind::open, .run = run, .start = std::make_unique<OutputFeedStart>(std::move(start))});
  // No wake-up: there is nothing to read until the next notification.
}

void LogThread::grew(base::RunId run) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::grew, .run = run});
  wake_.notify_one();
}

void LogThread::finish(base::RunId run, std::uint64_t output_end) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::finish, .run = run, .position = output_end});
  wake_.notify_one();
}

void LogThread::close(base::RunId run) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::close, .run = run});
  wake_.notify_one();
}

void LogThread::stored(base::RunId run, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::stored, .run = run, .position = position});
  wake_.notify_one();
}

void LogThread::calls_taken(base::RunId run, std::uint64_t position) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::taken, .run = run, .position = position});
  wake_.notify_one();
}

void LogThread::write(std::string lines) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.kind = Command::Kind::write, .lines = std::move(lines)});
  wake_.notify_one();
}

void LogThread::run() {
  // Applies to this thread only. Unread output waits in files, whereas a tool that waits for a CPU is slower.
  ::setpriority(PRIO_PROCESS, 0, politeness);
  std::deque<Command> taken;
  bool has_more = false;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [&] { return has_more || is_ending_ || !commands_.empty(); };
      if (deferred_.empty() && !std::exchange(must_retry_, false)) {
        wake_.wait(lock, is_due);
      } else {
        wake_.wait_for(lock, retry_pause, is_due);
      }
      if (commands_.empty() && is_ending_) return;
      std::swap(taken, commands_);
    }
    retry_deferred();
    for (Command& command : taken) {
      try {
        obey(command);
      } catch (const base::Error& error) {
        options_.log_warning(error.message());
        deferred_.push_back(std::move(command));
      }
    }
    taken.clear();
    has_more = false;
    for (auto& [_, feed] : feeds_) {
      if (read_some(*feed)) has_more = true;
    }
  }
}

void LogThread::retry_deferred() {
  if (deferred_.empty()) return;
  std::deque<Command> again = std::exchange(deferred_, {});
  while (!again.empty()) {
    try {
      obey(again.front());
    } catch (const base::Error&) {
      // Still waiting, and so are the commands after it.
      deferred_.push_back(std::move(again.front()));
    }
    again.pop_front();
  }
}

void LogThread::obey(Command& command) {
  using Kind = Command::Kind;
  if (command.kind == Kind::write) {
    append(command.lines);
    return;
  }
  const bool is_behind =
      std::ranges::any_of(deferred_, [&](const Command& earlier) { return earlier.run == command.run; });
  if (is_behind) {
    deferred_.push_back(std::move(command));
    return;
  }
  if (command.kind == Kind::open) {
    open_feed(command);
    return;
  }
  const auto found = feeds_.find(command.run);
  if (found == feeds_.end()) return;
  OutputFeed& feed = *found->second;
  switch (command.kind) {
    case Kind::grew:
      feed.is_asked = true;
      break;
    case Kind::finish:
      feed.output_end = command.position;
      feed.is_asked = true;
      break;
    case Kind::stored:
      feed.stored = std::max(feed.stored, command.position);
      break;
    case Kind::taken:
      if (feed.calls_until && command.position >= *feed.calls_until) feed.calls_until.reset();
      break;
    case Kind::close:
      feeds_.erase(found);
      break;
    case Kind::open:
    case Kind::write:
      break;
  }
}

void LogThread::open_feed(Command& command) {
  const base::RunId run = command.run;
  os::Folder folder = os::Folder::open(command.start->folder);
  auto feed = std::make_unique<OutputFeed>(std::move(*command.start), std::move(folder));
  OutputFeed& self = *feed;
  for (const model::Stream stream : {model::Stream::out, model::Stream::err}) {
    const std::size_t i = index_of(stream);
    const auto logged = logged_.find({run.number(), self.start.attempt, static_cast<int>(i)});
    if (logged != logged_.end()) self.logged[i] = logged->second + 1;
    self.splitters[i] = std::make_unique<LineSplitter>([this, &self, stream, i](const Line& line) {
      OutputBatch& batch = self.batch;
      // A partial line may contain part of a secret; a whole line can be checked quickly.
      const bool has_secrets =
          line.is_whole() ? self.start.secrets->may_occur_in(line.text) : !self.start.secrets->empty();
      std::string shown;
      if (has_secrets) {
        shown = self.redactors[i].feed(line.text);
        if (!line.is_partial) shown += self.redactors[i].finish();
        if (shown != line.text) self.note_secrets();
      }
      Line told = line;
      if (has_secrets) told.text = shown;
      // Events are shown to people as well, so they must be redacted. A call is not: it is decided and run as printed.
      if (line.is_whole() && stream == model::Stream::out && self.start.speaks_reeve) {
        if (auto call = lines_.read_call(line.text)) self.note_call(line, std::move(*call));
      }
      if (line.is_whole()) {
        if (auto event = lines_.read(told.text)) {
          // The tool's name is in earlier lines.
          if (auto* error = std::get_if<ToolUseError>(&*event)) error->tool = self.calls.find_tool(*error);
          redact_event(*event, *self.start.secrets);
          merge_event(batch, std::move(*event));
        }
        self.calls.note(told.text);
      }
      if (self.markers.match(line.text)) batch.has_failure_marker = true;
      if (stream == model::Stream::err && !told.text.empty()) {
        constexpr std::size_t longest = 4'096;
        std::string text = base::replace_invalid_utf8(base::truncate_utf8(told.text, longest));
        if (looks_like_error(told.text)) batch.error_line = text;
        batch.last_stderr_line = std::move(text);
      }
      if (line.position >= self.logged[i]) self.writer.append(self.text, self.timestamp, stream, told);
    });
  }
  // A new attempt has no output file yet; it is opened when first read.
  if (self.position() > 0) self.reader.seek(self.position());
  feeds_.insert_or_assign(run, std::move(feed));
}

// Returns whether there may be more to read now.
bool LogThread::read_some(OutputFeed& feed) {
  if (!feed.is_asked || feed.is_done || feed.must_wait()) return false;
  feed.batch = {.run = feed.start.run, .feed = feed.start.number, .attempt = feed.start.attempt};
  std::size_t read = 0;
  bool is_at_end = false;
  // What follows a call is read once the call is stored.
  while (read < turn_bytes && feed.batch.calls.empty()) {
    const bool is_read = feed.output_end && feed.reader.position() >= *feed.output_end;
    const auto frame = is_read ? std::nullopt : feed.reader.next();
    if (!frame) {
      // Its output is in the file and is read as soon as a descriptor is available.
      is_at_end = is_read || !feed.reader.lacks_descriptors();
      if (is_at_end || read > 0) break;
      must_retry_ = true;
      return false;
    }
    read += frame->bytes.size();
    const std::size_t i = frame->header.stream;
    std::string_view bytes = frame->bytes;
    std::uint64_t position = frame->payload_position();
    // Processed before the last crash.
    if (frame->end() <= feed.fed[i]) continue;
    if (position < feed.fed[i]) {
      bytes.remove_prefix(feed.fed[i] - position);
      position = feed.fed[i];
    }
    const auto at =
        base::WallTime(std::chrono::duration_cast<base::Milliseconds>(std::chrono::nanoseconds(frame->header.unix_ns)));
    feed.batch.last_output_at = at;
    feed.timestamp = base::format_time(at);
    feed.fed[i] = position + bytes.size();
    feed.splitters[i]->feed(position, bytes);
  }
  feed.is_asked = !is_at_end;
  const bool is_over = is_at_end && feed.output_end;
  if (is_over) {
    for (const auto& splitter : feed.splitters) splitter->finish();
    feed.batch.is_final = true;
    feed.is_done = true;
  }
  const std::uint64_t longest_wait = std::min(max_pending, feed.start.output_cap / 4);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::uint64_t begun = feed.splitters[i]->consumed();
    const bool waits_long = begun != 0 && begun < feed.fed[i] && begun + longest_wait < feed.reader.position();
    if (waits_long && !is_over) feed.splitters[i]->flush();
    // A stream with nothing pending need not be read again up to the position of the other.
    const std::uint64_t consumed = feed.splitters[i]->consumed();
    const bool has_pending = !is_over && consumed != 0 && consumed < feed.fed[i];
    feed.offsets[i] = has_pending ? consumed : std::max(feed.offsets[i], feed.reader.position());
  }
  feed.batch.out_offset = feed.offsets[0];
  feed.batch.err_offset = feed.offsets[1];
  feed.batch.position = feed.position();
  if (!feed.batch.calls.empty()) feed.calls_until = feed.batch.position;
  if (!feed.text.empty()) append(feed.text);
  feed.text.clear();
  if (options_.crash_point && read > 0) options_.crash_point("output.after_log_before_tx");
  options_.batch_read(std::move(feed.batch));
  return !is_at_end;
}

void LogThread::append(std::string_view lines) {
  bool has_complained = false;
  std::string_view rest = lines;
  while (true) {
    try {
      file_->log.append(rest);
      options_.wrote(lines);
      return;
    } catch (const base::Error& error) {
      // Nothing is dropped: reading stops, and so do tools once their output files are full.
      if (!has_complained) options_.log_warning(error.message());
      has_complained = true;
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, retry_pause, [&] { return is_ending_; })) return;
    }
  }
}

void LogThread::read_log_tail() {
  const std::string tail = file_->log.read_tail(tail_bytes);
  for (std::size_t at = 0; at < tail.size();) {
    const std::size_t end = std::min(tail.find('\n', at), tail.size());
    const std::string_view line = std::string_view(tail).substr(at, end - at);
    at = end + 1;
    const auto value = json::parse(line);
    if (!value) continue;
    if (const base::Value* seq = value->find("seq")) {
      if (seq->as_integer() != nullptr) last_event_ = *seq->as_integer();
      continue;
    }
    const base::Value* run = value->find("tool_run_id");
    const base::Value* offset = value->find("offset");
    const base::Value* attempt = value->find("attempt");
    const base::Value* stream = value->find("stream");
    if (run == nullptr || offset == nullptr || attempt == nullptr || stream == nullptr) continue;
    const auto id = run->as_string() != nullptr ? base::RunId::parse(*run->as_string()) : std::nullopt;
    if (!id || offset->as_integer() == nullptr || attempt->as_integer() == nullptr) continue;
    const int index = stream->as_string() != nullptr && *stream->as_string() == "stderr" ? 1 : 0;
    logged_[{id->number(), static_cast<int>(*attempt->as_integer()), index}] =
        static_cast<std::uint64_t>(*offset->as_integer());
  }
}

}  // namespace reeve::runtime
