#pragma once

#include <array>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "engine/run.h"
#include "keeper/records.h"
#include "ledger/attempts.h"
#include "ledger/ledger.h"
#include "ledger/run_questions.h"
#include "model/run.h"
#include "runtime/loop/loop.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/loop/serial_queue.h"
#include "runtime/output/log_thread.h"
#include "runtime/runs/activity_sampler.h"
#include "runtime/runs/attempt_keeper.h"
#include "runtime/runs/attempt_news.h"
#include "runtime/runs/attempt_output.h"
#include "runtime/runs/keeper_pool.h"
#include "runtime/runs/resumption.h"
#include "runtime/runs/run_callers.h"
#include "runtime/runs/run_end.h"
#include "runtime/runs/run_plan.h"
#include "runtime/runs/run_terminal.h"
#include "wire/run_process.h"

namespace reeve::runtime {

// Whether a run could approve its own questions: it is not confined, or can reach the database.
bool is_advisory(const RuntimeContext& context, const RunPlan& plan);

// The fields common to all questions of the run. With `with_digest`, includes the digest of what would run, which is
// read from the disk and saved there.
ledger::QuestionFrame make_question_frame(const RuntimeContext& context, const model::Run& run, const RunPlan& plan,
                                          bool with_digest);

// Performs one attempt, from the start of its process until its end is stored: engine::decide says what follows from
// each event, and this class stores, sends, reads and sets timers. Lives on the loop.
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
    std::optional<model::RunEnding> ending = {};
    // Time left for the hard timeout while the attempt waits for an approval (RUN-3).
    std::optional<base::Milliseconds> time_left = {};
    // The last question, and the keeper's serial number of the prompt.
    std::optional<model::Approval> question = {};
    std::optional<std::int64_t> prompt = {};
    // The tool calls that wait for a person.
    std::set<base::ApprovalId> waiting_calls = {};
    // Set for an attempt that resumes after a decision.
    std::optional<Resumption> resumption = {};
    // Set for a run whose standard input is streamed.
    std::optional<keeper::StdinGrew> input = {};
  };

  // Facts for the supervisor.
  // The record changed; reported after the commit.
  struct Changed {};
  // More output is available, or its end is known.
  struct OutputGrew {};
  // Its keeper has read the stream of standard input up to here.
  struct StdinRead {
    std::uint64_t position = 0;
  };
  // Reported after the commit.
  struct Asked {
    model::Approval approval;
  };
  // The tool exited with a question that was already approved: restart it with that grant. Reported before Over.
  struct Granted {
    base::ApprovalId grant{0};
  };
  // The tool exited to wait for its calls, and none of them waits any more: start it again. Reported before Over.
  struct Released {};
  // The end of the attempt is stored; the run may have ended, or wait.
  struct Over {};
  // The keeper disappeared without an exit record (RUN-13).
  struct Lost {};
  // The keeper ended the run because no daemon renewed its lease. All output is stored.
  struct GivenUp {};
  using Report = std::variant<Changed, OutputGrew, StdinRead, Asked, Granted, Released, Over, Lost, GivenUp>;
  // Must not destroy the run before it returns.
  using Reporter = std::function<void(const Report&)>;

  LiveRun(RuntimeContext& context, Start start, Reporter report);
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Assigns the run to an idle keeper, which starts the tool.
  void begin(Loop::Own<KeeperLink> link);
  // Connects to the keeper that has held the run since before this daemon started.
  void adopt(os::Fd socket);
  // Takes over an attempt that ended while no daemon was running.
  void conclude(keeper::ExitRecord record);

  void on_output(OutputBatch batch);

  using Done = std::function<void(std::expected<model::Run, base::Error>)>;
  // APR-1. Errors: `approval.one_at_a_time` (APR-9), `run.not_running`.
  using AskDone = std::function<void(std::expected<model::Approval, base::Error>)>;
  void ask(const Question& question, AskDone done);
  // Handles an event as if the tool had printed it; questions go through ask().
  void on_tool_event(const ToolEvent& event);
  // RUN-18: what the tool says about its end takes effect there; answered when it is stored. Errors: `run.not_running`.
  void report_outcome(model::ReportedOutcome reported, Done done);
  // A session's usage was added to the run's, and that is stored (AGT-4).
  void on_usage_stored(const model::Usage& added) { model::add_usage(start_.record.usage, added); }
  // The tool has read this answer on its socket, so it is not restarted for it (APR-5).
  void on_answer_read(const model::Approval& approval);
  // Its question was answered, and the decision is stored.
  void follow(const ledger::RunConsequence& consequence, const std::optional<std::string>& secret);

  // A tool call of it waits for a person, which is stored with the status of the run; any number may wait.
  void on_call_waits(base::ApprovalId id);
  // The call was answered, or is no longer needed: stored, with the status of the run.
  void on_call_answered(base::ApprovalId id, model::RunStatus status);
  // Another daemon may have answered calls: those that wait in the store.
  void on_calls_read(const std::set<base::ApprovalId>& waiting, model::RunStatus status);
  // The printed call whose line ends there is in the store, or cannot be stored (runtime/inbox/event.h).
  void on_call_taken(std::uint64_t position);
  // Writes a line, without its newline, to the standard input of a tool in `mode: stream`. Answers whether the tool can
  // read it: false if its input is closed, the line is longer than `keeper::input_line_bytes`, or too much waits.
  void send_line(std::string line, ToolLines::Done done);
  bool has_waiting_calls() const noexcept { return !state_.waiting_calls.empty(); }
  // Whether its approvals cannot be enforced (APR-11).
  bool is_advisory() const;
  // How far its output was read.
  std::uint64_t output_position() const noexcept { return state_.news.position; }
  // LOG-4: without the secrets of the run.
  std::string hide(const std::string& text) const;
  // What is left of its hard timeout; nothing without a limit.
  std::optional<std::int64_t> time_left_ms() const;

  // Ends the run. The reason is stored first. With a `grace` of 0, the tree is killed at once.
  void end(model::RunEnding ending, base::Milliseconds grace, Done done);
  // A person pauses it or lets it continue, or changes its limits: answered when that is stored. Errors:
  // `run.not_running`, `run.keeper_too_old`, `run.limit_passed`.
  void pause(std::string by, Done done);
  void resume(std::string by, Done done);
  void limit(const engine::LimitsRequested& limits, const std::string& by, Done done);
  // Answers false if the buffer is full or nothing reads the input.
  void input(std::string bytes, std::function<void(bool)> done);
  // There is more of the streamed standard input.
  void grow_input(const keeper::StdinGrew& news) { send(news); }
  void renew_lease();
  void resize(int rows, int columns);
  void signal(int number);

  // Its processes now, its clocks and its limits.
  wire::RunProcess describe_process();
  bool is_paused() const noexcept { return engine::is_held(state_); }

  const model::Run& record() const noexcept { return start_.record; }
  const ledger::AttemptClaim& claim() const noexcept { return start_.claim; }
  pid_t keeper_pid() const noexcept { return start_.keeper_pid; }
  const RunPlan& plan() const noexcept { return start_.plan; }
  const std::shared_ptr<const base::SecretSet>& secrets() const noexcept { return secrets_; }
  // It may ask: it is alive and not being ended.
  bool is_alive() const noexcept { return engine::is_alive(state_); }
  // Its process has exited; its end is not stored yet.
  bool has_exited() const noexcept { return engine::has_exited(state_); }
  // Where the output ends, once known.
  std::optional<std::uint64_t> output_end() const noexcept {
    return exit_ ? std::optional(exit_->output_end) : std::nullopt;
  }

 private:
  // Decides and performs what follows from the event. Events that occur meanwhile are handled afterwards, in order.
  void handle(engine::RunEvent event);
  void send(const keeper::ToKeeper& message);
  AttemptKeeper::Events keeper_events();
  void on_keeper_message(const keeper::FromKeeper& message);
  void on_keeper_gone();
  void open_feed();
  keeper::Assign make_assignment() const;
  // Whether an exit record with this attempt's nonce exists.
  bool read_exit_record();
  void on_timer(engine::RunTimer timer);
  // After a commit.
  void set_status(const model::Run& stored);

  void perform(const engine::SetTimer& action);
  void perform(const engine::ClearTimer& action);
  void perform(const engine::StopProcess& action);
  void perform(const engine::SendDeadline& action);
  void perform(const engine::Acknowledge& action);
  // In live_run_pause.cpp.
  void perform(const engine::FreezeProcess& action);
  void perform(const engine::ThawProcess& action);
  void perform(const engine::StorePause& action);
  void perform(const engine::StoreResume& action);
  void perform(const engine::StoreTimeLeft& action);
  void perform(const engine::StoreLimits& action);
  void perform(const engine::ReadRest& action);
  void perform(const engine::Recover& action);
  // In live_run_store.cpp.
  void perform(const engine::StoreNews& action);
  void perform(const engine::StoreEnd& action);
  void perform(const engine::StoreEnding& action);
  void perform(const engine::StoreStatus& action);
  void perform(const engine::StoreWarning& action);
  void perform(const engine::StoreTyped& action);
  // In live_run_questions.cpp.
  void perform(const engine::WithdrawQuestion& action);
  void perform(const engine::ReadScreen& action);
  void perform(const engine::AskAtTerminal& action);
  void perform(const engine::TypeAnswer& action);
  void perform(const engine::TypeFixedAnswer& action);
  void perform(const engine::TypeAgain& action);

  void take_output(OutputBatch batch);

  // In live_run_pause.cpp: what a person asks of it, one request after the other.
  void add_request(PersonRequest request);
  void begin_request();
  void begin_pause();
  void end_request(const std::expected<model::Run, base::Error>& result);
  std::optional<base::Error> find_limit_error(const engine::LimitsRequested& limits) const;
  void store_pausing(ledger::RunPausing pausing);
  base::Error not_running() const;

  ledger::AttemptNews take_news();
  ledger::QuestionFrame make_frame(bool with_digest) const;
  model::Approval make_approval(const Question& question) const;
  std::string read_tail(std::uint64_t position) const;
  struct Submission {
    model::Approval approval;
    std::optional<std::chrono::seconds> expires_in;
    std::optional<std::uint32_t> prompt;
    // What the screen shows around the prompt.
    std::string dialog;
    AskDone done;
  };
  void submit(Submission submission);

  RuntimeContext& context_;
  Start start_;
  Reporter report_;
  std::shared_ptr<const base::SecretSet> secrets_;
  engine::RunState state_;
  SerialQueue<engine::RunEvent> events_;
  AttemptNews news_;
  AttemptOutput output_;
  AttemptKeeper keeper_;
  RunTerminal terminal_;
  ActivitySampler activity_;
  std::optional<keeper::ExitRecord> exit_;
  std::array<Loop::Hold, engine::run_timers> timers_;
  RunCallers callers_;
  // Lets callbacks detect that this object is gone.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
