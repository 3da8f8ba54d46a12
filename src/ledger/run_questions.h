#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "ledger/questions.h"
#include "ledger/run_consequence.h"
#include "ledger/runs.h"

// Questions of runs: what asking does to the run (APR-1), and what an answer does (APR-5, APR-8).
namespace reeve::ledger {

// What every question of a run has, whatever it asks.
struct QuestionFrame {
  std::string tool;
  // What would run on a yes (APR-10).
  std::optional<std::string> digest = {};
  // Nothing keeps the tool from deciding by itself (APR-11).
  bool is_advisory = true;
  // Of the config; a question may name another time itself.
  base::TimeLimit expiry = base::TimeLimit::off();
};
// The question as it will be stored. `expires_in`: as the tool says.
model::Approval frame_question(Transaction& transaction, const QuestionFrame& frame, model::Approval approval,
                               std::optional<std::chrono::seconds> expires_in = {});

// A question of a run whose process has left, in the transaction that stores its end.
base::ApprovalId ask_after_end(Transaction& transaction, const model::Run& run, model::Approval approval);

// «rejected by ana: not on a Friday», «approval expired».
std::string describe_denial(const model::Approval& approval);

struct RunQuestion {
  // Of an attempt whose process lives.
  AttemptClaim claim;
  // Question, options, default, expiry, digest, way of the answer; the rest is filled in.
  model::Approval approval;
  // The keeper's number of the prompt, for one on the terminal.
  std::optional<std::int64_t> prompt = {};
  // What is left of its hard time, which stands still now (RUN-3).
  std::optional<std::int64_t> time_left_ms = {};
};

struct Asked {
  // Nothing when the claim is not the run's any more.
  std::optional<model::Run> run;
  // APR-9: nothing when another question of the attempt is open.
  std::optional<model::Approval> approval;
};
// APR-9: recorded and told, all at once.
void record_refused_questions(Transaction& transaction, const model::Run& run, std::size_t count,
                              const std::string& first);
Asked ask_for_run(Transaction& transaction, base::RunId run, RunQuestion question);

// In the transaction that closes the question.
std::optional<RunConsequence> follow_answer(Transaction& transaction, const store::ApprovalRow& row,
                                            const Closing& closing);

// A prompt went away without an answer: somebody typed, or the tool went on. The question is expired and the run runs.
// Nothing when it is not pending any more.
std::optional<model::Run> withdraw_question(Transaction& transaction, base::ApprovalId id, const std::string& reason);

// What was answered on the terminal has been typed, or could not be: the grant is used, or void (APR-7).
void record_typed(Transaction& transaction, base::ApprovalId id, bool is_typed);
// The tool has read the answer while it lived: that was its use.
void record_read(Transaction& transaction, base::ApprovalId id);

// Nothing that was granted to the run before can be used from here on.
void void_grants(Transaction& transaction, base::RunId run, const std::string& reason);

// What the attempt asked last and a restart or its socket answers.
std::optional<store::ApprovalRow> find_question_of(store::Session& session, base::RunId run, int attempt);
// Newest first, at most so many.
std::vector<model::Approval> find_approvals_of(store::Session& session, base::RunId run, std::int64_t most);

// APR-13: granted, and not begun.
struct GrantedRun {
  base::ApprovalId approval{0};
  base::RunId run{0};
};
std::vector<GrantedRun> find_granted(store::Session& session, const std::string& host, std::int64_t most);

}  // namespace reeve::ledger
