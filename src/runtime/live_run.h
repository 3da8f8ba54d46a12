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
#include "runtime/descriptor_budget.h"
#include "runtime/keeper_link.h"
#include "runtime/keeper_pool.h"
#include "runtime/log_thread.h"
#include "runtime/loop.h"
#include "runtime/resumption.h"
#include "runtime/run_end.h"
#include "runtime/run_plan.h"
#include "term/question.h"

namespace reeve::runtime {

// What everything that runs in the daemon shares.
struct Surroundings {
  Loop& loop;
  ledger::Ledger& ledger;
  const base::Clock& clock;
  LogThread& log;
  KeeperPool& keepers;
  project::StateFolder folder;
  // For the two ends of a sandbox.
  std::string keeper_program;
  std::int64_t daemon = 0;
  // Whose runs are this daemon's; where many share a store, the host with a mark of the state folder.
  std::string host;
  std::string boot_id;
  // Where control groups may be made; nothing: trees are walked.
  std::optional<std::string> cgroup_parent;
  // The soft limit that the person who started the daemon had.
  std::uint64_t open_files = 0;
  DescriptorBudget descriptors;
  model::Supervision supervision;
  // Of a store that many daemons share; a keeper whose daemon is gone for `adopt_grace` then ends its tree, because by
  // then others may decide about the run.
  std::optional<base::Milliseconds> lease = {};
  // What the daemon was started with, as far as tools may have it: for executions that were started elsewhere.
  std::map<std::string, std::string> environment = {};
  // Why nothing new may be started: what is stored now may be lost.
  std::optional<base::Error> refusal = {};
  // For messages that nobody waits for.
  std::function<void(const std::string&)> complain = [](const std::string&) {};
  // For tests: where the process may die.
  std::function<void(const char*)> crash_point = [](const char*) {};
};

std::string run_folder(const Surroundings& around, base::RunId run);
std::string attempt_folder(const Surroundings& around, base::RunId run, int attempt);
// What every question of the run has. With the digest of what would run, which is looked up on the disk and kept there.
ledger::QuestionFrame make_question_frame(const Surroundings& around, const model::Run& run, const RunPlan& plan,
                                          bool with_digest);

// An attempt that has begun, from its keeper's first word to its stored end: clocks, what its lines say, its end. Lives
// on the loop.
class LiveRun {
 public:
  struct Start {
    model::Run record;
    ledger::AttemptClaim claim;
    std::string nonce;
    RunPlan plan;
    pid_t keeper_pid = 0;
    std::optional<base::BootTime> deadline = {};
    // Of one that is adopted.
    std::uint64_t out_offset = 0;
    std::uint64_t err_offset = 0;
    bool has_failure_marker = false;
    bool has_result = false;
    std::optional<Ending> ending = {};
    // It waits for an answer: what is left of its time (RUN-3).
    std::optional<base::Milliseconds> time_left = {};
    // What was asked last, and the keeper's number of the prompt.
    std::optional<model::Approval> question = {};
    std::optional<std::int64_t> prompt = {};
    // Of one that is started on an answer.
    std::optional<Resumption> resumption = {};
  };
  struct Events {
    // Its record changed, after the commit.
    std::function<void(const model::Run&)> changed;
    // More output can be read, or it is known where it ends.
    std::function<void()> output;
    // The attempt is stored as ended; the run may be over, or wait. The object may be destroyed, not before the call
    // returns.
    std::function<void()> over;
    // A question was asked, after the commit.
    std::function<void(const model::Approval&)> asked;
    // It left with a question that had been granted before: to be started again on that. Before `over`.
    std::function<void(base::ApprovalId)> granted;
    // The keeper went without a word (RUN-13).
    std::function<void()> interrupted;
    // The keeper ended it because its daemon was away for too long; all that it printed is stored.
    std::function<void()> given_up;
  };

  LiveRun(Surroundings& around, Start start, Events events);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // The keeper that has been assigned nothing yet: from here on the tool runs.
  void begin(Loop::Own<KeeperLink> link);
  // One that held the run before this daemon was there.
  void adopt(os::Fd socket);
  // It ended while no daemon was there.
  void conclude(keeper::ExitRecord record);

  void take(Digest digest);

  // APR-1. Errors: `approval.one_at_a_time` (APR-9), `run.not_running`.
  using AskDone = std::function<void(std::expected<model::Approval, base::Error>)>;
  void ask(Question question, AskDone done);
  // As if it had printed it; questions are asked by ask().
  void report(const ToolEvent& event);
  // It has read the answer to this question itself, on its socket: it is not started again for it (APR-5).
  void note_read(const model::Approval& approval);
  // Its question was answered, and that is stored.
  void follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret);

  // Stored before it is done. `grace` 0: at once.
  using Done = std::function<void(std::expected<model::Run, base::Error>)>;
  void end(Ending ending, base::Milliseconds grace, Done done);
  // False when there is no room, or nothing that reads.
  void input(std::string bytes, std::function<void(bool)> done);
  void renew_lease();
  void resize(int rows, int columns);
  void signal(int number);

  const model::Run& record() const noexcept { return start_.record; }
  const ledger::AttemptClaim& claim() const noexcept { return start_.claim; }
  pid_t keeper_pid() const noexcept { return start_.keeper_pid; }
  const RunPlan& plan() const noexcept { return start_.plan; }
  const std::shared_ptr<const base::SecretSet>& secrets() const noexcept { return secrets_; }
  // Where the output ends, once that is known.
  std::optional<std::uint64_t> output_end() const noexcept { return output_end_; }

 private:
  void open_intake();
  KeeperLink::Events link_events();
  void hear(const keeper::FromKeeper& message);
  void see_gone();
  // Whether there is one with this attempt's nonce.
  bool read_exit_record();
  void finish_intake();
  void store_end();
  // Tells the keeper what is consumed, so that it tells of more.
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
  // By Reeve itself: tried again until it can be stored.
  void end_by_itself(Ending ending);
  void await_exit_after_result();
  // What belongs to questions is in live_run_questions.cpp.
  struct Wanted {
    model::Approval approval;
    std::optional<std::chrono::seconds> expires_in;
    std::optional<std::int64_t> prompt;
    AskDone done;
  };
  std::string hide(const std::string& text) const;
  // With the digest of what would run, which is looked up on the disk.
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
  // At the prompt that stands, after a pause.
  void look_again();
  void continue_questions();
  void stop(base::Milliseconds grace);
  // When the keeper may end it; 0 for never.
  std::int64_t lease_end_ns() const;

  Surroundings& around_;
  Start start_;
  Events events_;
  std::shared_ptr<const base::SecretSet> secrets_;
  Loop::Own<KeeperLink> link_;
  std::optional<keeper::ExitRecord> exit_;
  std::optional<std::uint64_t> output_end_;
  bool is_intake_final_ = false;
  bool is_storing_end_ = false;

  // Heard, and not stored yet.
  ledger::AttemptNews news_;
  bool has_news_ = false;
  bool is_storing_news_ = false;
  // Something was heard meanwhile that does not wait.
  bool is_news_due_ = false;
  std::uint64_t position_ = 0;
  std::uint64_t stored_position_ = 0;
  base::BootTime news_stored_at_;
  std::optional<std::string> last_stderr_line_;
  bool has_error_event_ = false;

  // Printed and not asked yet: only the first of them can be (APR-9).
  std::vector<Question> questions_;
  // Beyond what is kept of them; counted with the others.
  std::size_t dropped_questions_ = 0;
  // Open, of this attempt.
  std::optional<base::ApprovalId> open_question_;
  std::optional<std::int64_t> open_prompt_;
  // The one that stands, as far as the keeper has told.
  std::optional<keeper::Prompt> prompt_;
  // On its way to the keeper, until that has typed it or says that it cannot.
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
  std::uint64_t intake_ = 0;
  Loop::Hold deadline_timer_;
  Loop::Hold silence_timer_;
  Loop::Hold result_timer_;
  Loop::Hold news_timer_;
  std::uint32_t next_ticket_ = 1;
  std::map<std::uint32_t, std::function<void(bool)>> tickets_;
  // What is called back later finds out whether this still is.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
