#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/redaction.h"
#include "model/config.h"
#include "runtime/output/tool_line.h"

namespace reeve::runtime {

// What to read for one attempt.
struct OutputFeedStart {
  // Distinguishes batches of this reader from those of an earlier reader of the same attempt.
  std::uint64_t number = 0;
  base::RunId run{0};
  int attempt = 1;
  // The attempt's folder, which contains its output.
  std::string folder;
  std::string tool;
  std::optional<base::ExecutionId> execution;
  // The secrets, as values and in prepared form. Secrets that appear in the output are saved in `secrets_file`, next to
  // the output that contains them anyway, so that they can be masked for as long as it exists.
  std::vector<std::string> secret_values;
  std::shared_ptr<const base::SecretSet> secrets;
  std::string secrets_file;
  std::vector<std::string> failure_markers;
  // TOOL-4: lines of standard output that say `tool_use` are tool calls.
  bool speaks_reeve = false;
  // An unterminated line is split after a fraction of this, because waiting for its end could block the tool forever.
  std::uint64_t output_cap = 1ULL << 30U;
  // How far each stream has been processed.
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
};

// A tool call in a line of a tool that speaks Reeve's protocol (TOOL-4).
struct PrintedCall {
  // The tool's own id of the call; without one, the position of its line, which is the same when it is read again.
  std::string id;
  std::string tool;
  // As printed: an object, which may contain secrets.
  base::Value arguments;
  // Output position after its line.
  std::uint64_t end = 0;
};

// The combined content of a batch of output; later values replace earlier ones.
struct OutputBatch {
  base::RunId run{0};
  std::uint64_t feed = 0;
  int attempt = 1;
  // Stored together with the effects of this batch.
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
  // All output before this position has been read.
  std::uint64_t position = 0;
  std::optional<base::WallTime> last_output_at;
  bool has_heartbeat = false;
  bool has_failure_marker = false;
  // The message of the last error event; otherwise the last stderr line that looks like an error.
  std::optional<std::string> last_error;
  std::optional<std::string> error_line;
  std::optional<std::string> last_stderr_line;
  std::optional<model::Progress> progress;
  std::optional<model::Usage> usage;
  std::optional<Report> report;
  std::vector<Question> questions;
  // Questions beyond the limit, which cannot be asked (APR-9).
  std::size_t more_questions = 0;
  std::vector<ToolUseError> tool_errors;
  // Calls, of which the last is near the end of the batch; nothing is read after them until calls_taken().
  static constexpr std::size_t max_calls = 1'000;
  std::vector<PrintedCall> calls;
  // Calls beyond the limit, which are not made.
  std::size_t more_calls = 0;
  // The final batch of this attempt, after finish().
  bool is_final = false;

  // Whether the batch contains more than plain output.
  bool has_effect() const noexcept;
};

// The thread that reads tool output: parses events, redacts (LOG-4), and appends to logs/combined.log (LOG-1).
// Everything except the constructor and destructor may be called from any thread.
class LogThread {
 public:
  struct Options {
    // logs/combined.log.
    std::string path;
    model::LogSettings settings = {};
    // Called on the log thread.
    std::function<void(OutputBatch)> batch_read;
    std::function<void(const std::string& complaint)> log_warning;
    // Called with whole lines after they were written to the log.
    std::function<void(std::string_view)> wrote = [](std::string_view) {};
    // For tests: where the process may die.
    std::function<void(const char*)> crash_point = {};
  };

  explicit LogThread(Options options);
  // Writes everything already queued.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // The number of the last event in the log, read from its tail; later events must be written again.
  std::optional<std::int64_t> last_event() const noexcept { return last_event_; }

  void open(OutputFeedStart start);
  // More output is available. Answered by a batch, even if there was nothing new.
  void grew(base::RunId run);
  // The output ends at this position: the rest is read, including an unterminated line. Answered by a final batch.
  void finish(base::RunId run, std::uint64_t output_end);
  void close(base::RunId run);
  // Effects up to this position are stored. Reading stays within a limit of it.
  void stored(base::RunId run, std::uint64_t position);
  // The calls of all batches up to this position are in the store, so that it may read on.
  void calls_taken(base::RunId run, std::uint64_t position);
  // Appends whole lines to the log.
  void write(std::string lines);

 private:
  struct OutputFeed;
  struct Command;
  void run();
  void obey(Command& command);
  // Throws if the files cannot be opened.
  void open_feed(Command& command);
  void retry_deferred();
  bool read_some(OutputFeed& feed);
  void append(std::string_view lines);
  void read_log_tail();

  Options options_;
  std::optional<std::int64_t> last_event_;
  // For runs that were alive at start: how much of each stream the log already contains, by {run, attempt, stream}.
  std::map<std::tuple<std::int64_t, int, int>, std::uint64_t> logged_;
  std::map<base::RunId, std::unique_ptr<OutputFeed>> feeds_;
  struct File;
  std::unique_ptr<File> file_;
  LineReader lines_;
  // Commands of runs whose files could not be opened (too many open files); retried in order.
  std::deque<Command> deferred_;
  // Output could not be opened: retry after a pause.
  bool must_retry_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Command> commands_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace reeve::runtime
