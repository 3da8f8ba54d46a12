#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/run_exit.h"
#include "engine/stall.h"
#include "keeper/records.h"
#include "ledger/attempts.h"
#include "ledger/ledger.h"
#include "ledger/run_questions.h"
#include "model/run.h"
#include "os/beneath.h"
#include "project/state_folder.h"
#include "runtime/loop/coalesced.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/output/log_thread.h"
#include "runtime/runs/keeper_link.h"
#include "runtime/runs/keeper_pool.h"
#include "runtime/runs/resumption.h"
#include "runtime/runs/run_end.h"
#include "runtime/runs/run_plan.h"
#include "term/question.h"

namespace reeve::runtime {

// The fields common to all questions of the run. With `with_digest`, includes the digest of what would run, which is
// read from the disk and saved there.
ledger::QuestionFrame make_question_frame(const RuntimeContext& context, const model::Run& run, const RunPlan& plan,
                                          bool with_digest);

// A started attempt, from the keeper's first message until its end is stored: time limits, events in its output, and
// its exit. Lives on the loop.
class LiveRun {
 public:
  struct Start {
    model::Run record;
    ledger::AttemptClaim claim;
    std::string nonce;
    RunPlan plan;
    pid_t keeper_pid = 0;
    std::optional<base::BootTime> deadline = {};
    // Only for an adopted attempt.
    std::uint64_t out_offset = 0;
    std::uint64_t err_offset = 0;
    bool has_failure_marker = false;
    bool has_result = false;
    std::optional<Ending> ending = {};
    // Time left for the hard timeout while the attempt waits for an approval (RUN-3).
    std::optional<base::Milliseconds> time_left = {};
    // The last question, and the keeper's serial number of the prompt.
    std::optional<model::Approval> question = {};
    std::optional<std::int64_t> prompt = {};
    // Set for an attempt that resumes after a decision.
    std::optional<Resumption> resumption = {};
  };
  struct Events {
    // The record changed; called after the commit.
    std::function<void(const model::Run&)> changed;
    // More output is available, or its end is known.
    std::function<void()> output;
    // The end of the attempt is stored; the run may have ended, or wait. The object may be destroyed after this call
    // returns.
    std::function<void()> over;
    // A question was asked; called after the commit.
    std::function<void(const model::Approval&)> asked;
    // The tool exited with a question that was already approved: restart it with that grant. Called before `over`.
    std::function<void(base::ApprovalId)> granted;
    // The keeper disappeared without an exit record (RUN-13).
    std::function<void()> interrupted;
    // The keeper ended the run because no daemon renewed its lease. All output is stored.
    std::function<void()> given_up;
  };

  LiveRun(RuntimeContext& context, Start start, Events events);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Assigns the run to an idle keeper, which starts the tool.
  void begin(Loop::Own<KeeperLink> link);
  // Connects to the keeper that has held the run since before this daemon started.
  void adopt(os::Fd socket);
  // Takes over an attempt that ended while no daemon was running.
  void conclude(keeper::ExitRecord record);

  void take(OutputBatch digest);

  // APR-1. Errors: `approval.one_at_a_time` (APR-9), `run.not_running`.
  using AskDone = std::function<void(std::expected<model::Approval, base::Error>)>;
  void ask(Question question, AskDone done);
  // Handles an event as if the tool had printed it; questions go through ask().
  void report(const ToolEvent& event);
  // The tool has read this answer on its socket, so it is not restarted for it (APR-5).
  void note_read(const model::Approval& approval);
  // Its question was answered, and the decision is stored.
  void follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret);

  // Ends the run. The intent is stored first. With a `grace` of 0, the tree is killed at once.
  using Done = std::function<void(std::expected<model::Run, base::Error>)>;
  void end(Ending ending, base::Milliseconds grace, Done done);
  // Answers false if the buffer is full or nothing reads the input.
  void input(std::string bytes, std::function<void(bool)> done);
  void renew_lease();
  void resize(int rows, int columns);
  void signal(int number);

  const model::Run& record() const noexcept { return start_.record; }
  const ledger::AttemptClaim& claim() const noexcept { return start_.claim; }
  pid_t keeper_pid() const noexcept { return start_.keeper_pid; }
  const RunPlan& plan() const noexcept { return start_.plan; }
  const std::shared_ptr<const base::SecretSet>& secrets() const noexcept { return secrets_; }
  // Where the output ends, once known.
  std::optional<std::uint64_t> output_end() const noexcept { return output_end_; }

 private:
  void open_feed();
  KeeperLink::Events link_events();
  void hear(const keeper::FromKeeper& message);
  void see_gone();
  // Whether an exit record with this attempt's nonce exists.
  bool read_exit_record();
  void finish_feed();
  void store_end();
  // Acknowledges consumed output, so that the keeper reports more.
  void answer_growth();
  void store_news();
  void set_deadline_timer();
  void renew_silence();
  void watch_silence(base::BootTime when);
  void look_at_silence();
  void warn(const std::string& reason);
  void mark_stalled(const std::string& limit);
  void mark_running();
  void move(ledger::RunMove move);
  // Ends the run on Reeve's own initiative: retried until it can be stored.
  void end_by_itself(Ending ending);
  void await_exit_after_result();
  // The functions for questions are in live_run_questions.cpp.
  struct Wanted {
    model::Approval approval;
    std::optional<std::chrono::seconds> expires_in;
    std::optional<std::int64_t> prompt;
    AskDone done;
  };
  std::string hide(const std::string& text) const;
  // With `with_digest`, includes the digest of what would run, which is read from the disk.
  ledger::QuestionFrame make_frame(bool with_digest) const;
  model::Approval make_approval(const Question& question) const;
  void submit(Wanted wanted);
  void see_asked(const ledger::Asked& asked, const AskDone& done);
  std::optional<std::int64_t> time_left_ms() const;
  void hold_clock();
  void resume_clock();
  void see_prompt(const keeper::Prompt& prompt);
  void see_prompt_over(std::uint32_t serial);
  void ask_at_terminal(const keeper::Prompt& prompt, const term::ScreenQuestion& seen);
  std::string read_tail(std::uint64_t position) const;
  void type(const model::Approval& approval, std::int64_t prompt, const std::optional<std::string>& secret);
  void send_answer(keeper::Answer answer);
  void see_typed(std::uint64_t number, bool is_typed);
  void store_typed(base::ApprovalId id, bool is_typed);
  // Checks the current prompt again after a pause.
  void look_again();
  void continue_questions();
  void stop(base::Milliseconds grace);
  // When the keeper may end the run; 0 for never.
  std::int64_t lease_end_ns() const;

  RuntimeContext& context_;
  Start start_;
  Events events_;
  std::shared_ptr<const base::SecretSet> secrets_;
  Loop::Own<KeeperLink> link_;
  std::optional<keeper::ExitRecord> exit_;
  std::optional<std::uint64_t> output_end_;
  bool is_feed_final_ = false;
  bool is_storing_end_ = false;

  // Received but not stored yet.
  ledger::AttemptNews news_;
  bool has_news_ = false;
  Coalesced storing_news_;
  std::uint64_t position_ = 0;
  std::uint64_t stored_position_ = 0;
  base::BootTime news_stored_at_;
  std::optional<std::string> last_stderr_line_;
  bool has_error_event_ = false;

  // Printed but not asked yet; only the first of them can be asked (APR-9).
  std::vector<Question> questions_;
  // Printed questions beyond the limit; counted like the others.
  std::size_t dropped_questions_ = 0;
  // The open question of this attempt.
  std::optional<base::ApprovalId> open_question_;
  std::optional<std::int64_t> open_prompt_;
  // The current prompt, as last reported by the keeper.
  std::optional<keeper::Prompt> prompt_;
  // Sent to the keeper and not yet confirmed as typed or refused.
  struct Typed {
    keeper::Answer answer;
    int tries = 0;
  };
  std::optional<Typed> answer_;
  bool is_asking_ = false;
  bool has_told_maybe_ = false;
  bool has_read_answer_ = false;
  Loop::Hold prompt_timer_;
  Loop::Hold look_timer_;

  engine::Silence silence_;
  bool has_warned_ = false;
  base::BootTime stall_decided_at_;
  Loop::Hold end_timer_;
  Loop::Hold answer_timer_;
  base::BootTime answered_at_;
  std::uint64_t feed_ = 0;
  Loop::Hold deadline_timer_;
  Loop::Hold silence_timer_;
  Loop::Hold result_timer_;
  Loop::Hold news_timer_;
  std::uint32_t next_ticket_ = 1;
  std::map<std::uint32_t, std::function<void(bool)>> tickets_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
