#include "runtime/runs/attempt_news.h"

#include <utility>

#include "json/encode.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t max_tool_errors = 100;
constexpr std::size_t max_questions = 64;

}  // namespace

AttemptNews::AttemptNews(const Start& start) : may_ask_(start.may_ask), has_failure_marker_(start.has_failure_marker) {
  record_.out_offset = static_cast<std::int64_t>(start.out_offset);
  record_.err_offset = static_cast<std::int64_t>(start.err_offset);
}

engine::OutputRead AttemptNews::merge(OutputBatch batch, model::Run& run, base::WallTime now) {
  engine::OutputRead read{.position = batch.position,
                          .is_sign_of_life = batch.last_output_at || batch.has_heartbeat,
                          .has_effect = batch.has_effect(),
                          .is_final = batch.is_final};
  record_.out_offset = static_cast<std::int64_t>(batch.out_offset);
  record_.err_offset = static_cast<std::int64_t>(batch.err_offset);
  if (batch.last_output_at) record_.last_output_at = batch.last_output_at;
  if (batch.has_heartbeat) record_.last_heartbeat_at = now;
  if (batch.has_failure_marker) has_failure_marker_ = record_.has_failure_marker = true;
  if (batch.progress) record_.progress = batch.progress;
  if (batch.usage) {
    model::add_usage(run.usage, *batch.usage);
    model::add_usage(record_.added_usage, *batch.usage);
  }
  for (const ToolUseError& error : batch.tool_errors) {
    if (run.tool_errors.size() >= max_tool_errors) break;
    run.tool_errors.push_back({error.tool, error.message});
    record_.tool_errors = run.tool_errors;
  }
  if (batch.report && batch.report->kind == Report::Kind::result) {
    read.has_result = true;
    record_.result = batch.report->data ? json::encode(*batch.report->data) : "null";
  }
  merge_errors(batch);
  merge_questions(batch);
  return read;
}

ledger::AttemptNews AttemptNews::take_record() {
  ledger::AttemptNews taken = record_;
  record_.added_usage.reset();
  return taken;
}

void AttemptNews::return_usage(const std::optional<model::Usage>& usage) {
  if (usage) model::add_usage(record_.added_usage, *usage);
}

// RUN-7: an error event takes precedence over a line that looks like one.
void AttemptNews::merge_errors(const OutputBatch& batch) {
  has_error_event_ = has_error_event_ || batch.last_error;
  if (batch.last_error) {
    record_.last_error = batch.last_error;
  } else if (batch.error_line && !has_error_event_) {
    record_.last_error = batch.error_line;
  }
  if (batch.last_stderr_line) last_stderr_line_ = batch.last_stderr_line;
}

void AttemptNews::merge_questions(OutputBatch& batch) {
  if (!may_ask_) return;
  dropped_questions_ += batch.more_questions;
  for (Question& question : batch.questions) {
    if (questions_.size() < max_questions) {
      questions_.push_back(std::move(question));
    } else {
      ++dropped_questions_;
    }
  }
}

std::optional<std::string> AttemptNews::find_fallback_error(const model::Run& run) const {
  const bool has_better = has_error_event_ || run.last_error || record_.last_error;
  return has_better ? std::nullopt : last_stderr_line_;
}

void AttemptNews::forget_questions(std::size_t count, std::size_t dropped) {
  questions_.erase(questions_.begin(), questions_.begin() + static_cast<std::ptrdiff_t>(count));
  dropped_questions_ -= dropped;
}

void apply_news(const ledger::AttemptNews& news, model::Run& run) {
  if (news.last_output_at) run.last_output_at = news.last_output_at;
  if (news.last_heartbeat_at) run.last_heartbeat_at = news.last_heartbeat_at;
  if (news.last_error) run.last_error = news.last_error;
  if (news.progress) run.progress = news.progress;
}

}  // namespace reeve::runtime
