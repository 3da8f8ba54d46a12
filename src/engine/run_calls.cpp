#include "engine/run_decider.h"

// Tool calls that wait for a person (TOOL-3, APR-9).
namespace reeve::engine {

void RunDecider::on(const CallWaits& event) {
  // What becomes of the calls of a process that has exited is decided when its end is stored.
  if (has_exited(state_)) return;
  state_.waiting_calls.insert(event.id);
  state_.status = model::RunStatus::waiting_approval;
  pause_clock_for_person();
}

void RunDecider::on(const CallAnswered& event) {
  if (has_exited(state_) || state_.waiting_calls.erase(event.id) == 0) return;
  state_.status = event.status;
  resume_clock();
}

}  // namespace reeve::engine
