#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "ledger/questions.h"
#include "ledger/run_consequence.h"
#include "ledger/runs.h"

// Questions of runs: the effect of asking (APR-1) and of an answer (APR-5, APR-8) on the run.
namespace reeve::ledger {

// The fields that all questions of a run share.
struct QuestionFrame {
  std::string tool;
  // Digest of what would run after approval (APR-10).
  std::optional<std::string> digest = {};
  // Nothing technically prevents the tool from approving its own request (APR-11).
  bool is_advisory = true;
  // From the config; a question may set its own.
  base::TimeLimit expiry = base::TimeLimit::off();
  // For the risk (APR-3): the command that approval may start again, what its screen shows around a prompt, and the
  // levels of the config.
  std::vector<std::string> command = {};
  std::string dialog = {};
  bool is_sandboxed = false;
  model::RiskLevels levels = {};
};
// Builds the question to be stored. `expires_in` is the time that the tool asks for.
model::Approval frame_question(Transaction& transaction, const QuestionFrame& frame, model::Approval approval,
                               std::optional<std::chrono::seconds> expires_in = {});

// Asks for a run whose process has exited, in the transaction that stores its end.
base::ApprovalId ask_after_end(Transaction& transaction, const model::Run& run, model::Approval approval);

// "rejected by ana: not on a Friday", "approval expired".
std::string describe_denial(const model::Approval& approval);

struct RunQuestion {
  // The live attempt that asks.
  AttemptClaim claim;
  // Question, options, default, expiry, digest and delivery; the rest is filled in.
  model::Approval approval;
  // For a terminal prompt: the keeper's number of the prompt.
  std::optional<std::int64_t> prompt = {};
  // What is left of its hard timeout, which is paused now (RUN-3).
  std::optional<std::int64_t> time_left_ms = {};
};

struct Asked {
  // Empty if the claim is no longer current.
  std::optional<model::Run> run;
  // APR-9: empty if another question of the attempt is open.
  std::optional<model::Approval> approval;
};
// APR-9: recorded and reported, all in one entry. This is no policy event.
void record_refused_questions(Transaction& transaction, const model::Run& run, std::size_t count,
                              const std::string& first);
Asked ask_for_run(Transaction& transaction, base::RunId run, RunQuestion question);

// Called in the transaction that closes the question.
std::optional<RunConsequence> follow_answer(Transaction& transaction, const store::ApprovalRow& row,
                                            const Closing& closing);

// A prompt disappeared without an answer: a user typed, or the tool continued. The question is expired and the run is
// running again. Nothing if it is no longer pending.
std::optional<model::Run> withdraw_question(Transaction& transaction, base::ApprovalId id, const std::string& reason);

// The answer to a terminal prompt was typed, or could not be: the grant is used, or void (APR-7).
void record_typed(Transaction& transaction, base::ApprovalId id, bool is_typed);
// The tool read the answer while alive, which used the grant.
void record_read(Transaction& transaction, base::ApprovalId id);

// Voids all earlier grants of the run.
void void_grants(Transaction& transaction, base::RunId run, const std::string& reason);

// The attempt's last question that is answered by a restart or over its socket.
std::optional<store::ApprovalRow> find_question_of(store::Session& session, base::RunId run, int attempt);
// Newest first, at most `most`; of all kinds, or of one.
std::vector<model::Approval> find_approvals_of(store::Session& session, base::RunId run, std::int64_t most,
                                               std::optional<model::ApprovalKind> kind = {});

// APR-13: granted, but the next attempt has not started.
struct GrantedRun {
  base::ApprovalId approval{0};
  base::RunId run{0};
};
std::vector<GrantedRun> find_granted(store::Session& session, const std::string& host, std::int64_t most);

}  // namespace reeve::ledger
