#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/run.h"

// The outputs that a node's run passes to later nodes (GRF-9). `folder` is the run's folder in the state folder.
namespace reeve::runtime {

// The end of its output: at most that many bytes, whole characters, secrets masked.
std::string read_text(const std::string& folder, const model::Run& run, std::size_t most);

// What a task reported besides its text.
struct TaskReport {
  // From its `result` event.
  std::optional<base::Value> result = {};
  // Values to mask in its result file as well (LOG-4).
  std::vector<std::string> secrets = {};
};
// `{status, exit_code, summary, text}`, with the keys of its result file and `result` event merged in. The summary is
// the last line meant for people. The tool's results are data: a result that is not an object is placed under `result`;
// one that is too large or invalid is reported under `result_error`.
base::Value make_task_outputs(const std::string& folder, const model::Run& run, const TaskReport& report);

// A gate's outputs: `{passed, test_status, output, exit_code}`.
base::Value make_gate_outputs(const std::string& folder, const model::Run& run);
// Outputs of a gate that was not run because a gate it depends on did not pass.
base::Value make_skipped_outputs(const std::string& because);

// Whether a gate's command ran and passed or did not pass, as opposed to a gate that broke (GRF-6).
enum class GateWord { yes, no, broken };
GateWord read_gate_word(const model::Run& run);

}  // namespace reeve::runtime
