#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/run.h"
#include "ledger/attempts.h"
#include "model/run.h"
#include "runtime/output/log_thread.h"

namespace reeve::runtime {

// What an attempt's output reported, folded from batches into one record, and the questions it printed.
class AttemptNews {
 public:
  struct Start {
    std::uint64_t out_offset = 0;
    std::uint64_t err_offset = 0;
    bool has_failure_marker = false;
    // False for a gate, whose questions are ignored (GRF-6).
    bool may_ask = true;
  };
  explicit AttemptNews(const Start& start);

  // Adds a batch; `run` gets the new totals. Returns what it means for the attempt.
  engine::OutputRead merge(OutputBatch batch, model::Run& run, base::WallTime now);

  // To be stored; the deadline is the caller's.
  const ledger::AttemptNews& record() const noexcept { return record_; }
  // The same, for a write that contains the usage that no earlier one did. A write that fails returns it.
  ledger::AttemptNews take_record();
  void return_usage(const std::optional<model::Usage>& usage);
  bool has_failure_marker() const noexcept { return has_failure_marker_; }
  // For `last_error` if nothing else was reported (RUN-7).
  std::optional<std::string> find_fallback_error(const model::Run& run) const;

  // Printed and not asked yet. Only the first can be asked; the others are counted and refused (APR-9).
  const std::vector<Question>& questions() const noexcept { return questions_; }
  // Printed beyond the limit of those kept.
  std::size_t dropped_questions() const noexcept { return dropped_questions_; }
  // These were asked or refused, and that is stored.
  void forget_questions(std::size_t count, std::size_t dropped);

 private:
  void merge_errors(const OutputBatch& batch);
  void merge_questions(OutputBatch& batch);

  ledger::AttemptNews record_;
  bool may_ask_ = true;
  bool has_failure_marker_ = false;
  bool has_error_event_ = false;
  std::optional<std::string> last_stderr_line_;
  std::vector<Question> questions_;
  std::size_t dropped_questions_ = 0;
};

// Copies what was stored into the run's record.
void apply_news(const ledger::AttemptNews& news, model::Run& run);

}  // namespace reeve::runtime
