#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/run.h"

namespace reeve::engine {

// One call of decide(). The functions for limits, prompts and questions, and output are in run_limits.cpp,
// run_questions.cpp and run_output.cpp; pauses and changed limits in run_pause.cpp; tool calls in run_calls.cpp.
class RunDecider {
 public:
  RunDecider(RunState& state, base::BootTime now) : state_(state), now_(now) {}

  std::vector<RunAction> take_actions() { return std::move(actions_); }

  void on(const RunBegun& event);
  void on(const RunAdopted& event);
  void on(const ProcessExited& event);
  void on(const KeeperLost& event);
  void on(const EndRequested& event);
  void on(const EndingStored& event);
  void on(const TimerFired& event);
  void on(const PauseRequested& event);
  void on(const ResumeRequested& event);
  void on(const PauseStored& event);
  void on(const ResumeStored& event);
  void on(const LimitsRequested& event);
  void on(const LimitsStored& event);
  void on(const StatusStored& event);
  void on(const OutputRead& event);
  void on(const NewsStored& event);
  void on(const EndStored& event);
  void on(const PromptShown& event);
  void on(const ScreenRead& event);
  void on(const PromptGone& event);
  void on(const QuestionSubmitted& event);
  void on(const QuestionStored& event);
  void on(const QuestionAnswered& event);
  void on(const QuestionWithdrawn& event);
  void on(const CallWaits& event);
  void on(const CallAnswered& event);
  void on(const AnswerRead& event);
  void on(const AnswerUnusable& event);
  void on(const AnswerTyped& event);

 private:
  void act(RunAction action) { actions_.push_back(std::move(action)); }
  void set_timer(RunTimer timer, base::BootTime when) { act(SetTimer{timer, when}); }
  void clear_timer(RunTimer timer) { act(ClearTimer{timer}); }

  // Pauses.
  void hold();
  void stop_clocks();
  void release();

  // Limits.
  void request_end(model::RunEnding why, base::Milliseconds grace, bool is_retried);
  // Ends the run on Reeve's own initiative.
  void end_by_itself(model::RunEnding why) { request_end(std::move(why), state_.terms.kill_grace, true); }
  void pause_clock();
  // The same for something that begins to wait, which was stored together with what was left then.
  void pause_clock_for_person();
  void resume_clock();
  void set_deadline_timer();
  void renew_silence();
  void watch_silence();
  void check_silence(const Activity& activity);
  void mark_stalled();
  void mark_running();
  void await_exit_after_result();

  // Output.
  void store_news();
  void store_end();
  void acknowledge();

  // Prompts and questions.
  void on_asked(const AskedQuestion& asked);
  void handle_prompt();
  // Checks the prompt again after a pause.
  void handle_prompt_later();
  void withdraw_up_to(std::uint32_t serial);
  void type_answer(base::ApprovalId id, std::uint32_t serial);

  RunState& state_;
  base::BootTime now_;
  std::vector<RunAction> actions_;
};

}  // namespace reeve::engine
