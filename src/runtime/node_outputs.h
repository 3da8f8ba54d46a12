#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/run.h"

// What the run of a node gives to the nodes behind it (GRF-9). `folder` is the run's own in the state folder.
namespace reeve::runtime {

// The end of what it printed, at most so many bytes, whole characters, its secrets hidden.
std::string read_text(const std::string& folder, const model::Run& run, std::size_t most);

// What a task has told Reeve beside its text.
struct TaskReport {
  // Of its `result` event.
  std::optional<base::Value> result = {};
  // Values that are hidden in its result file too (LOG-4).
  std::vector<std::string> secrets = {};
};
// `{status, exit_code, summary, text}` with the keys of its result file and of its `result` event merged in. The
// summary is the last line that it meant for people. What the tool wrote is data: a result that is no object stands
// under `result`, one that is too large or broken is told of under `result_error`.
base::Value make_task_outputs(const std::string& folder, const model::Run& run, const TaskReport& report);

// What a gate said: `{passed, test_status, output, exit_code}`.
base::Value make_gate_outputs(const std::string& folder, const model::Run& run);
// Of one that was not run because one that it depends on said no.
base::Value make_skipped_outputs(const std::string& because);

// Whether a gate's command ran and said yes or no, as opposed to one that broke (GRF-6).
enum class GateWord { yes, no, broken };
GateWord read_gate_word(const model::Run& run);

}  // namespace reeve::runtime
