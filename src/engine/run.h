#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/quantity.h"
#include "engine/stall.h"
#include "model/run.h"

// How a live attempt of a run proceeds, from the start of its process until its end is stored: limits (RUN-3, RUN-5,
// RUN-17), prompts on its terminal (RUN-10), questions and answers (APR-1, APR-5), tool calls that wait for a person
// (APR-9), what is stored when (RUN-7), and its end (RUN-4, RUN-15).
//
// decide() takes an event and returns actions. It touches nothing outside its state: the performer
// (runtime/runs/live_run.h) stores, sends, reads and sets timers, and reports the results as new events. Nothing is
// done to the process for a reason that is not stored yet.
namespace reeve::engine {

// The policies and limits of an attempt.
struct RunTerms {
  base::TimeLimit timeout = base::TimeLimit::off();
  base::TimeLimit no_output_timeout = base::TimeLimit::off();
  model::Liveness liveness = model::Liveness::activity;
  model::OnStall on_stall = model::OnStall::mark;
  model::PromptAction on_prompt = model::PromptAction::approve;
  base::Milliseconds kill_grace = std::chrono::seconds(5);
  base::Milliseconds result_grace = std::chrono::seconds(30);
  // Unstored output is read again after a crash, so it is stored at least this often.
  std::uint64_t unstored_bytes = 1ULL << 20U;
};

// --- State ---

// The process is alive.
struct Alive {};
// It is being ended for this reason.
struct Stopping {
  model::RunEnding why;
  bool is_stored = true;
  // Without a grace period.
  bool must_kill = false;
};
// It has exited, and the rest of its output is being read or its end stored.
struct Exited {
  std::optional<model::RunEnding> why = {};
  bool is_output_read = false;
  bool is_storing = false;
};
// Its end is stored.
struct Finished {};
using RunPhase = std::variant<Alive, Stopping, Exited, Finished>;

// RUN-3: the clock of the hard timeout.
struct Unlimited {};
struct Ticking {
  base::BootTime deadline;
};
// A question is open, or a tool call waits for a person.
struct Paused {
  base::Milliseconds left;
};
using HardClock = std::variant<Unlimited, Ticking, Paused>;

// A person paused the run: its processes are stopped, and no limit applies to it (RUN-3, RUN-5, RUN-17). From the
// request on, the clocks stand still; the processes are stopped once the pause is stored, so that the next daemon
// knows.
enum class RunPause { none, storing, paused, resuming };

struct OpenQuestion {
  base::ApprovalId id{0};
  // The prompt on the terminal that it is about.
  std::optional<std::uint32_t> prompt = {};
};

// A process of the run waits for input at its terminal. Serials increase.
struct TerminalPrompt {
  std::uint32_t serial = 0;
  bool is_certain = true;
  bool is_secret = false;
  // Output position when it was detected.
  std::uint64_t position = 0;
};

// An answer that was sent to the keeper and is neither typed nor refused yet.
struct TypingAnswer {
  std::uint64_t number = 0;
  std::uint32_t serial = 0;
  int tries = 0;
  // Not sent yet, because the run is paused.
  std::optional<base::ApprovalId> deferred = {};
};

// What was read from the attempt's output and is not stored yet (RUN-7).
struct UnstoredNews {
  bool is_pending = false;
  bool is_storing = false;
  // Asked for while an earlier write was in progress.
  bool must_repeat = false;
  bool has_timer = false;
  std::uint64_t position = 0;
  std::uint64_t stored_position = 0;
  base::BootTime stored_at = {};
  // The deadline after a pause.
  std::optional<base::BootTime> deadline = {};
  // The write in progress contains one.
  bool is_storing_deadline = false;
};

struct RunState {
  RunTerms terms = {};
  // As last stored.
  model::RunStatus status = model::RunStatus::running;
  RunPhase phase = Alive{};
  HardClock clock = Unlimited{};
  RunPause pause = RunPause::none;
  // The tool has reported its result and is expected to exit (RUN-17).
  bool has_result = false;
  Silence silence = {};
  bool has_warned_of_silence = false;
  base::BootTime stall_decided_at = {};
  std::optional<OpenQuestion> question = {};
  // Tool calls that wait for a person: any number, beside at most one question (APR-9).
  std::set<base::ApprovalId> waiting_calls = {};
  // Questions that are being stored.
  int asking = 0;
  // The tool has read the answer itself and needs no restart for it (APR-5).
  bool has_read_answer = false;
  std::optional<TerminalPrompt> prompt = {};
  bool has_warned_of_prompt = false;
  std::optional<TypingAnswer> typing = {};
  UnstoredNews news = {};
  base::BootTime acknowledged_at = {};
  bool has_acknowledge_timer = false;
  // Decided here and not stored yet; takes effect if an earlier request to end the run cannot be stored.
  std::optional<model::RunEnding> unstored_ending = {};
};

// --- Events ---

struct RunBegun {};
// The process was started under an earlier daemon.
struct RunAdopted {
  struct LastQuestion {
    base::ApprovalId id{0};
    bool is_pending = false;
    // Answered, but whether the answer was typed is unknown.
    bool must_be_typed = false;
    std::optional<std::uint32_t> prompt = {};
  };
  std::optional<LastQuestion> question = {};
  std::set<base::ApprovalId> waiting_calls = {};
  bool has_result = false;
};
struct OutputRead {
  std::uint64_t position = 0;
  // Output or a heartbeat.
  bool is_sign_of_life = false;
  // More than plain output: an event, a question, a failure marker.
  bool has_effect = false;
  bool has_result = false;
  // Everything that the process wrote has been read.
  bool is_final = false;
};
struct PromptShown {
  TerminalPrompt prompt;
};
// After ReadScreen.
struct ScreenRead {
  std::uint32_t serial = 0;
  bool looks_like_question = false;
};
struct PromptGone {
  std::uint32_t serial = 0;
};
// A question is being stored, at the request of the tool.
struct QuestionSubmitted {};
struct AskedQuestion {
  base::ApprovalId id{0};
  std::optional<std::uint32_t> prompt = {};
};
// After QuestionSubmitted and AskAtTerminal; empty if it was refused or could not be stored.
struct QuestionStored {
  std::optional<AskedQuestion> asked = {};
};
enum class AnswerEffect { resume, type, end_process, none };
// The question was answered and the answer is stored.
struct QuestionAnswered {
  base::ApprovalId id{0};
  AnswerEffect effect = AnswerEffect::none;
  model::RunStatus status = model::RunStatus::running;
  std::optional<std::uint32_t> prompt = {};
};
// A tool call waits for a person, and that is stored.
struct CallWaits {
  base::ApprovalId id{0};
};
// Its answer is stored, or it is no longer needed. `status`: of the run, which may still wait for others.
struct CallAnswered {
  base::ApprovalId id{0};
  model::RunStatus status = model::RunStatus::running;
};
struct AnswerRead {};
// After TypeAnswer: nothing can be typed, because the answer lacks its secret.
struct AnswerUnusable {
  base::ApprovalId id{0};
};
struct AnswerTyped {
  std::uint64_t number = 0;
  bool is_typed = false;
};
// After WithdrawQuestion. Without a status, the question was decided at the same moment.
struct QuestionWithdrawn {
  base::ApprovalId id{0};
  std::uint32_t serial = 0;
  bool is_stored = false;
  std::optional<model::RunStatus> status = {};
};
struct EndRequested {
  model::RunEnding why;
  base::Milliseconds grace{0};
};
// After StoreEnding.
struct EndingStored {
  model::RunEnding why;
  base::Milliseconds grace{0};
  bool is_retried = false;
  bool is_stored = false;
};
// A person pauses the run or lets it continue. Ignored unless it is alive and not so already (may_pause, may_resume).
struct PauseRequested {};
struct ResumeRequested {};
// After StorePause and StoreResume.
struct PauseStored {
  bool is_stored = false;
};
struct ResumeStored {
  bool is_stored = false;
};
// A person changes its limits; those without a value stay. Ignored unless it is alive.
struct LimitsRequested {
  std::optional<base::TimeLimit> timeout = {};
  std::optional<base::TimeLimit> no_output_timeout = {};
};
// After StoreLimits.
struct LimitsStored {
  LimitsRequested limits;
  bool is_stored = false;
};
// The exit record was read.
struct ProcessExited {};
// The keeper is gone and left no exit record.
struct KeeperLost {};
// After StoreNews.
struct NewsStored {
  bool is_stored = false;
  std::uint64_t position = 0;
  std::optional<base::BootTime> deadline = {};
  std::optional<AskedQuestion> asked = {};
};
// After StoreEnd.
struct EndStored {
  bool is_stored = false;
};
// After StoreStatus. `status` is empty if the run was not in the expected status.
struct StatusStored {
  bool is_stored = false;
  std::optional<model::RunStatus> status = {};
};
enum class RunTimer { deadline, silence, result, news, ending, typing, prompt, withdrawal, acknowledgement };
inline constexpr std::size_t run_timers = 9;
struct TimerFired {
  RunTimer timer = RunTimer::deadline;
  // For `silence`, if needs_activity() says so.
  Activity activity = {};
};
using RunEvent = std::variant<RunBegun, RunAdopted, OutputRead, PromptShown, ScreenRead, PromptGone, QuestionSubmitted,
                              QuestionStored, QuestionAnswered, AnswerRead, AnswerUnusable, AnswerTyped,
                              QuestionWithdrawn, EndRequested, EndingStored, ProcessExited, KeeperLost, NewsStored,
                              EndStored, StatusStored, TimerFired, PauseRequested, ResumeRequested, PauseStored,
                              ResumeStored, LimitsRequested, LimitsStored, CallWaits, CallAnswered>;

// --- Actions ---

// Replaces the timer of that kind.
struct SetTimer {
  RunTimer timer = RunTimer::deadline;
  base::BootTime when;
};
struct ClearTimer {
  RunTimer timer = RunTimer::deadline;
};
// The news and the printed questions, in one transaction.
struct StoreNews {};
struct StoreEnd {};
struct StoreEnding {
  model::RunEnding why;
  base::Milliseconds grace{0};
  // Decided here, so it is tried again if the store does not take it.
  bool is_retried = false;
};
struct StoreStatus {
  model::RunStatus to = model::RunStatus::running;
  model::RunStatus only_from = model::RunStatus::stalled;
  std::optional<std::string> reason = {};
};
struct StoreWarning {
  std::string text;
};
// APR-7: the answer was typed, or could not be.
struct StoreTyped {
  base::ApprovalId id{0};
  bool is_typed = false;
};
struct WithdrawQuestion {
  base::ApprovalId id{0};
  std::uint32_t serial = 0;
};
struct ReadScreen {
  TerminalPrompt prompt;
};
struct AskAtTerminal {
  TerminalPrompt prompt;
};
// The answer to a question; the keeper types each number once.
struct TypeAnswer {
  base::ApprovalId id{0};
  std::uint32_t serial = 0;
};
// The fixed answer of the profile.
struct TypeFixedAnswer {
  std::uint32_t serial = 0;
};
struct TypeAgain {};
// That the run is paused, and what is left of its hard timeout.
struct StorePause {
  std::optional<base::Milliseconds> left;
};
struct StoreResume {};
// What is left while the clock stands still.
struct StoreTimeLeft {
  std::optional<base::Milliseconds> left;
};
struct StoreLimits {
  LimitsRequested limits;
  // The clock with the new timeout: while it runs, else while it stands still. Neither without a limit.
  std::optional<base::BootTime> deadline;
  std::optional<base::Milliseconds> left;
};
// SIGSTOP to the whole tree, and SIGCONT. May be repeated.
struct FreezeProcess {};
struct ThawProcess {};
struct StopProcess {
  base::Milliseconds grace{0};
};
// For the keeper, which enforces it while no daemon is connected; empty for none.
struct SendDeadline {
  std::optional<base::BootTime> deadline = {};
};
// Tells the keeper how much output is stored, so that it reports more.
struct Acknowledge {};
// Reads the rest of the output; OutputRead::is_final follows.
struct ReadRest {};
// Examines the run as after a restart (RUN-13).
struct Recover {};
using RunAction = std::variant<SetTimer, ClearTimer, StoreNews, StoreEnd, StoreEnding, StoreStatus, StoreWarning,
                               StoreTyped, WithdrawQuestion, ReadScreen, AskAtTerminal, TypeAnswer, TypeFixedAnswer,
                               TypeAgain, StopProcess, SendDeadline, Acknowledge, ReadRest, Recover, StorePause,
                               StoreResume, StoreTimeLeft, StoreLimits, FreezeProcess, ThawProcess>;

// `now` never goes back from one call to the next.
std::vector<RunAction> decide(RunState& state, const RunEvent& event, base::BootTime now);

// Whether the process has exited.
bool has_exited(const RunState& state) noexcept;
// Whether it may ask: it is alive and not being ended.
bool is_alive(const RunState& state) noexcept;
// Whether it is being ended for a reason that is not stored yet.
bool is_storing_ending(const RunState& state) noexcept;
// Whether a question or a tool call of it waits for a person: its clocks stand still (RUN-3).
bool waits_for_person(const RunState& state) noexcept;
// Whether the answer to this question, or to this tool call, still concerns the attempt.
bool awaits_answer(const RunState& state, base::ApprovalId id) noexcept;
// The reason for which it is being ended, or was.
std::optional<model::RunEnding> find_ending(const RunState& state);
// What is left of the hard timeout; nothing without a limit.
std::optional<base::Milliseconds> time_left(const RunState& state, base::BootTime now);
// What would be left with another timeout: zero if the run has already run for so long. A timeout that was off counts
// from now.
std::optional<base::Milliseconds> time_left_of(const RunState& state, base::TimeLimit timeout, base::BootTime now);
// Whether its clocks stand still because a person paused it.
bool is_held(const RunState& state) noexcept;
// Whether a request to pause it, or to let it continue, would have an effect now.
bool may_pause(const RunState& state) noexcept;
bool may_resume(const RunState& state) noexcept;
// Whether TimerFired for `silence` needs the activity of the process tree, which is expensive to measure.
bool needs_activity(const RunState& state, base::BootTime now);

}  // namespace reeve::engine
