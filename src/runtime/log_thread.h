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
#include "runtime/tool_line.h"

namespace reeve::runtime {

// What to read of one attempt.
struct IntakeStart {
  // Tells digests of this reading from those of an earlier one of the same attempt.
  std::uint64_t number = 0;
  base::RunId run{0};
  int attempt = 1;
  // Of the attempt: where its output lies.
  std::string folder;
  std::string tool;
  std::optional<base::ExecutionId> execution;
  // The same twice: as values, and prepared. Those that are printed are kept in `secrets_file`, beside the output that
  // holds them anyway, so that they can be hidden as long as it lies there.
  std::vector<std::string> secret_values;
  std::shared_ptr<const base::SecretSet> secrets;
  std::string secrets_file;
  std::vector<std::string> failure_markers;
  // A line without an end is not waited for beyond a part of it: the tool would be held for ever.
  std::uint64_t output_cap = 1ULL << 30U;
  // From where on each stream has not been dealt with.
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
};

// What a stretch of output said, all of it at once: later words about the same thing replace earlier ones.
struct Digest {
  base::RunId run{0};
  std::uint64_t intake = 0;
  int attempt = 1;
  // To be stored with what follows from it.
  std::uint64_t out_offset = 0;
  std::uint64_t err_offset = 0;
  // Everything before it has been read.
  std::uint64_t position = 0;
  std::optional<base::WallTime> last_output_at;
  bool has_heartbeat = false;
  bool has_failure_marker = false;
  // Of the last error event; else the last line on standard error that looks like an error.
  std::optional<std::string> last_error;
  std::optional<std::string> error_line;
  std::optional<std::string> last_stderr_line;
  std::optional<model::Progress> progress;
  std::optional<model::Usage> usage;
  std::optional<Report> report;
  std::vector<Question> questions;
  // Beyond what is kept of them: none of these can be asked (APR-9).
  std::size_t more_questions = 0;
  std::vector<ToolUseError> tool_errors;
  // The last of this attempt, after finish().
  bool is_final = false;

  // Whether anything in it is more than that there was output.
  bool has_effect() const noexcept;
};

// The one thread that reads what tools print: finds what they say to Reeve, redacts (LOG-4), and appends to
// logs/combined.log (LOG-1). Everything but the constructor and the destructor may be called from any thread.
class LogThread {
 public:
  struct Options {
    // logs/combined.log.
    std::string path;
    model::LogSettings settings = {};
    // Called on this thread.
    std::function<void(Digest)> digest;
    std::function<void(const std::string& complaint)> complain;
    // Called with whole lines once they are in the log.
    std::function<void(std::string_view)> wrote = [](std::string_view) {};
    // For tests: where the process may die.
    std::function<void(const char*)> crash_point = {};
  };

  explicit LogThread(Options options);
  // Writes what was given to it before.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // The number of the last event in the log, from its tail: what was committed after it has to be written again.
  std::optional<std::int64_t> last_event() const noexcept { return last_event_; }

  void open(IntakeStart start);
  // There is more to read. Answered by a digest, also when there was nothing new.
  void grew(base::RunId run);
  // The output ends there: the rest is read, and lines without an end count. Answered by a final digest.
  void finish(base::RunId run, std::uint64_t output_end);
  void close(base::RunId run);
  // What was read up to there is stored. What is read is kept within a bound of it.
  void stored(base::RunId run, std::uint64_t position);
  // Whole lines for the log.
  void write(std::string lines);

 private:
  struct Intake;
  struct Command;
  void run();
  void obey(Command& command);
  // Throws when the files cannot be opened.
  void open_intake(Command& command);
  void retry_deferred();
  bool read_some(Intake& intake);
  void append(std::string_view lines);
  void read_log_tail();

  Options options_;
  std::optional<std::int64_t> last_event_;
  // Of live runs when the daemon began: what of each stream the log has already, {run, attempt, stream}.
  std::map<std::tuple<std::int64_t, int, int>, std::uint64_t> logged_;
  std::map<base::RunId, std::unique_ptr<Intake>> intakes_;
  struct File;
  std::unique_ptr<File> file_;
  LineReader lines_;
  // Of runs whose files could not be opened (too many are open): tried again, in their order.
  std::deque<Command> deferred_;
  // Output could not be opened: looked at again after a pause.
  bool must_retry_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Command> commands_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace reeve::runtime
