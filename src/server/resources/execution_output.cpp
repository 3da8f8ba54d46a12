#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "json/describe.h"
#include "json/encode.h"
#include "server/access/project_policy.h"
#include "server/request/exchange.h"
#include "server/resources/attempt_lines.h"
#include "server/resources/contract.h"
#include "server/resources/missing_output.h"
#include "wire/problem.h"

// /api/executions/*/output: the output of all runs of an execution, merged by time. A problem says which of it is with
// other daemons.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

constexpr std::size_t max_waiting = 1UL << 20U;
constexpr std::size_t piece_bytes = 256UL << 10U;
// Read in one turn of the loop.
constexpr std::uint64_t turn_bytes = 1UL << 20U;
// Output files open at once; more runs than this at the same time are merged only as far as these are.
constexpr std::size_t max_open = 64;
// How often the store is asked for new runs while following.
constexpr base::Milliseconds runs_interval = std::chrono::seconds(1);

// Called for an attempt without output here.
using OnMissing = std::function<void(const model::Run& run, int attempt)>;

// The output of one run, attempt after attempt.
class RunLines {
 public:
  RunLines(runtime::Daemon& daemon, const model::Run& run, OnMissing on_missing)
      : daemon_(daemon),
        run_(run),
        on_missing_(std::move(on_missing)),
        secrets_(find_output_secrets(daemon, run.tool_run_id)) {
    open();
  }

  base::RunId id() const noexcept { return run_.tool_run_id; }
  void update(const model::Run& run) { run_ = run; }
  bool has_line() const noexcept { return !lines_.empty(); }
  // All attempts so far were read, and the run has ended.
  bool is_over() const noexcept { return is_over_ && lines_.empty(); }
  const OutputLine& front() const { return lines_.front(); }
  OutputLine pop() {
    OutputLine line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

  // Reads until there is a line, the current end is reached, or `budget` bytes were read.
  void read(std::uint64_t& budget) {
    while (lines_.empty() && budget > 0 && !is_over_) {
      const bool has_ended = is_output_over(daemon_, id(), attempt_);
      const std::uint64_t before = attempt_lines_ ? attempt_lines_->position() : 0;
      // It may have started since.
      if (!attempt_lines_) open();
      if (attempt_lines_ && attempt_lines_->read()) {
        budget -= std::min(budget, attempt_lines_->position() - before);
        continue;
      }
      if (!has_ended) return;
      if (attempt_lines_) attempt_lines_->finish();
      if (attempt_ >= run_.attempt) {
        is_over_ = is_final(run_.status);
        return;
      }
      ++attempt_;
      open();
    }
  }
  // Nobody waits for more: passes on an unterminated line.
  void finish() {
    if (attempt_lines_) attempt_lines_->finish();
  }

 private:
  void open() {
    attempt_lines_.reset();
    try {
      attempt_lines_ = std::make_unique<AttemptLines>(daemon_, AttemptLines::Start{.run = id(), .attempt = attempt_},
                                                      secrets_, [this](OutputLine line) { take(std::move(line)); });
    } catch (const Error&) {
      // An attempt that never printed, whose output is no longer kept, or that another host has.
      on_missing_(run_, attempt_);
    }
  }
  void take(OutputLine line) {
    line.record.set("tool_run_id", Value::string(id().text()));
    line.record.set("node_id", json::to_value(run_.node_id));
    lines_.push_back(std::move(line));
  }

  runtime::Daemon& daemon_;
  model::Run run_;
  OnMissing on_missing_;
  std::shared_ptr<const base::SecretSet> secrets_;
  int attempt_ = 1;
  std::unique_ptr<AttemptLines> attempt_lines_;
  std::deque<OutputLine> lines_;
  bool is_over_ = false;
};

// A run that has ended without a word has no output anywhere.
bool may_have_printed(const model::Run& run) { return run.last_output_at || !is_final(run.status); }

bool has_files(runtime::Daemon& daemon, const model::Run& run) {
  for (int attempt = 1; attempt <= run.attempt; ++attempt) {
    const std::string folder = runtime::attempt_folder(daemon.context(), run.tool_run_id, attempt);
    std::error_code error;
    if (std::filesystem::exists(folder, error)) return true;
  }
  return false;
}

class ExecutionFollower : public std::enable_shared_from_this<ExecutionFollower> {
 public:
  struct Start {
    base::ExecutionId execution{0};
    bool follows = false;
    bool may_name_paths = false;
    runtime::LineSelection::Terms terms = {};
  };
  ExecutionFollower(runtime::Daemon& daemon, const Start& start)
      : daemon_(daemon),
        start_(start),
        selection_(start.terms),
        missing_(start.execution.text(), start.may_name_paths) {}

  void update(const runtime::ExecutionRuns& found) {
    is_execution_over_ = found.is_over;
    for (const store::RemoteAttempt& remote : found.remote_attempts) {
      remote_hosts_.insert_or_assign({remote.run, remote.attempt}, remote.host);
    }
    for (const model::Run& run : found.runs) {
      const auto open = std::ranges::find(open_, run.tool_run_id, [](const auto& lines) { return lines->id(); });
      if (open != open_.end()) {
        (*open)->update(run);
        continue;
      }
      const auto waiting = std::ranges::find(waiting_, run.tool_run_id, &model::Run::tool_run_id);
      if (waiting != waiting_.end()) {
        *waiting = run;
      } else if (run.tool_run_id > last_) {
        waiting_.push_back(run);
        last_ = run.tool_run_id;
      }
    }
  }

  void begin(std::shared_ptr<Stream> stream) {
    stream_ = std::move(stream);
    stream_->on_drained([self = shared_from_this()] { self->pump(); });
    stream_->on_closed([self = shared_from_this()] { self->release(); });
    if (start_.follows) look_for_runs_later();
    pump();
  }

 private:
  // The earliest line that there is. A run that started later than that line is not opened yet.
  RunLines* find_next(std::uint64_t& budget) {
    RunLines* next = nullptr;
    const auto consider = [&](RunLines& lines) {
      lines.read(budget);
      if (lines.has_line() && (next == nullptr || lines.front().at < next->front().at)) next = &lines;
    };
    for (const auto& lines : open_) consider(*lines);
    std::erase_if(open_, [](const auto& lines) { return lines->is_over(); });
    while (!waiting_.empty() && open_.size() < max_open) {
      const model::Run& run = waiting_.front();
      if (next != nullptr && run.started_at && *run.started_at > next->front().at) break;
      open_.push_back(std::make_unique<RunLines>(
          daemon_, run, [this](const model::Run& of, int attempt) { note_missing(of, attempt); }));
      waiting_.pop_front();
      follow(open_.back()->id());
      consider(*open_.back());
    }
    return next;
  }

  void pump() {
    if (is_ended_ || stream_->is_closed() || stream_->waiting() >= max_waiting) return;
    std::uint64_t budget = turn_bytes;
    std::uint64_t lines = 0;
    constexpr std::uint64_t max_lines = 5'000;
    bool is_at_end = false;
    while (budget > 0 && selection_.pending() < piece_bytes && ++lines < max_lines) {
      RunLines* next = find_next(budget);
      // An earlier line may be in what was not read yet.
      if (budget == 0) break;
      is_at_end = next == nullptr;
      if (is_at_end) break;
      add(next->pop());
    }
    if (is_at_end && !start_.follows) finish();
    if (is_at_end) selection_.reach_end();
    std::string bytes = selection_.take();
    if (is_at_end) bytes += take_problem();
    if (!bytes.empty()) stream_->write(std::move(bytes));
    if (is_at_end && (!start_.follows || (is_execution_over_ && open_.empty() && waiting_.empty()))) {
      is_ended_ = true;
      stream_->end();
      return release();
    }
    if (!is_at_end) pump_later();
  }

  void add(const OutputLine& line) { selection_.add(line.at, line.text, json::encode(line.record)); }

  void note_missing(const model::Run& run, int attempt) {
    const auto host = remote_hosts_.find({run.tool_run_id, attempt});
    if (host != remote_hosts_.end() && may_have_printed(run)) missing_.add(run.tool_run_id, host->second);
  }

  // The output that could not be read, once more whenever it has become more.
  std::string take_problem() {
    if (missing_.size() == missing_told_) return {};
    missing_told_ = missing_.size();
    Value record = Value::object();
    record.set("problem", wire::problem_document(missing_.describe()));
    return json::encode(record) + "\n";
  }

  void finish() {
    for (const auto& lines : open_) {
      lines->finish();
      while (lines->has_line()) add(lines->pop());
    }
  }

  void pump_later() {
    daemon_.loop().post([self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->pump();
    });
  }

  void follow(base::RunId run) {
    if (!start_.follows) return;
    holds_.push_back(daemon_.supervisor().follow_output(run, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->pump();
    }));
  }

  void look_for_runs_later() {
    if (is_ended_ || stream_->is_closed()) return;
    timer_ = daemon_.loop().at(daemon_.loop().now() + runs_interval, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->look_for_runs();
    });
  }

  void look_for_runs();

  void release() {
    daemon_.loop().post([self = shared_from_this()] {
      self->holds_.clear();
      self->timer_ = {};
      // These callbacks and this object refer to each other.
      self->stream_->on_drained(nullptr);
      self->stream_->on_closed(nullptr);
    });
  }

  runtime::Daemon& daemon_;
  Start start_;
  runtime::LineSelection selection_;
  // Not opened yet.
  std::deque<model::Run> waiting_;
  std::vector<std::unique_ptr<RunLines>> open_;
  base::RunId last_{0};
  bool is_execution_over_ = false;
  std::map<std::pair<base::RunId, int>, std::string> remote_hosts_;
  MissingOutput missing_;
  std::size_t missing_told_ = 0;
  std::shared_ptr<Stream> stream_;
  std::vector<runtime::Loop::Hold> holds_;
  runtime::Loop::Hold timer_;
  bool is_ended_ = false;
};

using FoundRuns = std::expected<runtime::ExecutionRuns, Error>;

void ExecutionFollower::look_for_runs() {
  const std::string& host = daemon_.context().host;
  daemon_.queries().get_execution_runs(start_.execution, host, [self = weak_from_this()](const FoundRuns& found) {
    const auto alive = self.lock();
    if (!alive || alive->is_ended_ || alive->stream_->is_closed()) return;
    // The store may be out of reach for a moment.
    if (found) alive->update(*found);
    alive->look_for_runs_later();
    alive->pump();
  });
}

void send_output(SharedExchange exchange, const ExecutionFollower::Start& start, const runtime::ExecutionRuns& found) {
  const bool may_grow = start.follows && !found.is_over;
  const auto is_here = [&](const model::Run& run) { return has_files(exchange->daemon, run); };
  MissingOutput missing(start.execution.text(), start.may_name_paths);
  for (const store::RemoteAttempt& remote : found.remote_attempts) {
    const auto run = std::ranges::lower_bound(found.runs, remote.run, {}, &model::Run::tool_run_id);
    const bool is_found = run != found.runs.end() && run->tool_run_id == remote.run;
    if (is_found && may_have_printed(*run)) missing.add(remote.run, remote.host);
  }
  if (!may_grow && !missing.is_empty() && std::ranges::none_of(found.runs, is_here)) throw missing.describe();
  const auto follower = std::make_shared<ExecutionFollower>(exchange->daemon, start);
  follower->update(found);
  exchange->is_answered = true;
  follower->begin(exchange->responder->begin(Response{.content_type = "application/x-ndjson"}));
}

void output(SharedExchange exchange) {
  const ExecutionFollower::Start start{.execution = exchange->execution_id(),
                                       .follows = exchange->query_flag("follow"),
                                       .may_name_paths = may_name_paths(*exchange),
                                       .terms = parse_line_terms(*exchange)};
  const std::string& host = exchange->daemon.context().host;
  exchange->daemon.queries().get_execution_runs(start.execution, host, [exchange, start](const FoundRuns& found) {
    exchange->go_on([&] {
      if (!found) throw found.error();
      send_output(exchange, start, *found);
    });
  });
}

}  // namespace

std::vector<Operation> execution_output_operations(json::Schemas& schemas) {
  std::vector<Parameter> query = {flag_parameter("follow", "1: keep streaming until the execution ends")};
  for (Parameter& more : line_terms_parameters()) query.push_back(std::move(more));
  const Value line = output_line_schema(
      schemas, {{"tool_run_id", schemas.of<base::RunId>()}, {"node_id", schemas.of<std::optional<std::string>>()}});
  // Output that is with other daemons cannot be read here.
  const Value problem = json::object_schema({{"problem", json::reference_schema("Problem")}}, {"problem"});
  const Value record =
      json::extended(Value::object(), "anyOf", Value::array({schemas.add("ExecutionOutputLine", line), problem}));
  return {{.method = "GET",
           .path = "/api/executions/{id}/output",
           .handle = output,
           .name = "readExecutionOutput",
           .inside = InRunAccess::refused,
           .summary = "Read the output of all runs of the execution and its subgraphs, merged by time, redacted",
           .query = std::move(query),
           .replies = {{200, schemas.add("ExecutionOutputRecord", record), "application/x-ndjson"}},
           .errors = {ErrorCode::execution_not_found, ErrorCode::run_not_here}}};
}

}  // namespace reeve::server
