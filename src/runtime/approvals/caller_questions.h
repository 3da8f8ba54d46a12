#pragma once

#include <expected>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "ledger/caller_questions.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/runs/idempotency.h"

namespace reeve::runtime {

// Asks for callers of the API that are in no run. Reports QuestionAsked to the inbox. Lives on the loop; callbacks run
// there.
class CallerQuestions {
 public:
  // The context must outlive the calls.
  explicit CallerQuestions(RuntimeContext& context) : context_(context) {}

  template <class T>
  using Done = std::function<void(std::expected<T, base::Error>)>;

  // Errors: those of ledger::ask_for_caller(). A repeated request with the same key gets the approval of the first one.
  void ask(ledger::CallerQuestion question, std::optional<Idempotency> idempotency,
           Done<ledger::CallerAsked> done) const;
  void find(std::string asked_by, std::string reference, Done<std::optional<model::Approval>> done) const;

 private:
  RuntimeContext& context_;
};

}  // namespace reeve::runtime
