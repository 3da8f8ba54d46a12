#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/project_ref.h"

// One supervised execution of a tool (SPEC §1).
namespace reeve::model {

enum class RunStatus { queued, running, stalled, waiting_approval, completed, failed, failed_timeout, cancelled };
REEVE_DESCRIBE_ENUM(RunStatus, queued, running, stalled, waiting_approval, completed, failed, failed_timeout, cancelled)

// RUN-2: whether the status may change from `from` to `to`. `running → queued` only together with Outcome::limited
// (RUN-18).
bool can_move(RunStatus from, RunStatus to) noexcept;
bool is_final(RunStatus status) noexcept;

// Details beyond the status (RUN-18).
enum class Outcome { denied, asked, no_change, limited, did_not_exit, ungated, not_logged_in };
REEVE_DESCRIBE_ENUM(Outcome, denied, asked, no_change, limited, did_not_exit, ungated, not_logged_in)

// `stdout` and `stderr` in the log; both names are C macros.
enum class Stream { out, err };
std::span<const base::EnumName<Stream>> enum_names(Stream) noexcept;

// RUN-9.
enum class RunMode { pipe, pty, stream };
REEVE_DESCRIBE_ENUM(RunMode, pipe, pty, stream)

// RUN-9: whether the starter of a run sends its standard input. `offered` input is ignored where the tool has another
// one: a terminal, an open stream or its prompt. `required` input is refused there.
enum class StandardInput { none, offered, required };
REEVE_DESCRIBE_ENUM(StandardInput, none, offered, required)

// RUN-5: what counts as a sign of life, and what happens without one.
enum class Liveness { activity, output };
REEVE_DESCRIBE_ENUM(Liveness, activity, output)
enum class OnStall { mark, kill };
REEVE_DESCRIBE_ENUM(OnStall, mark, kill)

// RUN-10: a prompt on the terminal. `answer` types a fixed text.
enum class PromptAction { approve, fail, answer };
REEVE_DESCRIBE_ENUM(PromptAction, approve, fail, answer)

// APR-5.
enum class ResumeWay { rerun, live };
REEVE_DESCRIBE_ENUM(ResumeWay, rerun, live)

// RUN-13.
enum class OnInterrupted { ask, fail, rerun };
REEVE_DESCRIBE_ENUM(OnInterrupted, ask, fail, rerun)

// RUN-11.
enum class Headless { safe, unsupported };
REEVE_DESCRIBE_ENUM(Headless, safe, unsupported)

enum class Sandbox { none, guard };
REEVE_DESCRIBE_ENUM(Sandbox, none, guard)

// TOOL-4: whether lines on standard output that look like tool calls are tool calls. `reeve`: the tool speaks Reeve's
// own protocol.
enum class Speaks { nothing, reeve };
REEVE_DESCRIBE_ENUM(Speaks, nothing, reeve)

// A real agent that runs behind its adapter (AGT-4). `acp`: any agent that speaks the Agent Client Protocol.
enum class AgentKind { claude, codex, gemini, qwen, opencode, acp };
REEVE_DESCRIBE_ENUM(AgentKind, claude, codex, gemini, qwen, opencode, acp)

// Why an attempt is ended from outside. Stored before anything is done to the process, so that the next daemon knows
// what its end means.
struct RunEnding {
  RunStatus status = RunStatus::cancelled;
  std::string reason;
  std::optional<Outcome> outcome;
  friend bool operator==(const RunEnding&, const RunEnding&) = default;
};
BOOST_DESCRIBE_STRUCT(RunEnding, (), (status, reason, outcome))

struct Progress {
  std::optional<double> percent;
  std::optional<std::string> message;
  friend bool operator==(const Progress&, const Progress&) = default;
};
BOOST_DESCRIBE_STRUCT(Progress, (), (percent, message))

struct Usage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<double> cost_usd;
  friend bool operator==(const Usage&, const Usage&) = default;
};
BOOST_DESCRIBE_STRUCT(Usage, (), (input_tokens, output_tokens, cost_usd))
// Bounded, so that no sum of reports overflows.
void add_usage(std::optional<Usage>& total, const Usage& more);

struct ToolError {
  // The tool that the agent called, as far as it is known (TOOL-6).
  std::optional<std::string> tool;
  std::string message;
  friend bool operator==(const ToolError&, const ToolError&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolError, (), (tool, message))

// A run's record: fields and names as in SPEC §7.
struct Run {
  base::RunId tool_run_id{0};
  std::optional<ProjectRef> project;
  std::string tool_name;
  std::optional<base::ExecutionId> execution_id;
  std::optional<std::string> node_id;
  std::optional<base::AgentId> agent_id;
  RunStatus status = RunStatus::queued;
  std::optional<std::string> reason;
  std::optional<Outcome> outcome;
  std::optional<int> exit_code;
  int attempt = 1;
  std::vector<std::string> argv;
  std::string cwd;
  std::optional<base::WallTime> started_at;
  std::optional<base::WallTime> completed_at;
  std::optional<std::int64_t> duration_ms;
  std::optional<base::WallTime> last_output_at;
  std::optional<base::WallTime> last_heartbeat_at;
  std::optional<std::string> last_error;
  std::optional<Progress> progress;
  std::optional<Usage> usage;
  std::vector<ToolError> tool_errors;
  std::map<std::string, std::string> metadata;
  // A person stopped its processes, and its clocks stand still.
  std::optional<base::WallTime> paused_at;
  // A person dismissed its failure.
  std::optional<base::WallTime> seen_at;
  // A queued run that reached a usage limit continues then (RUN-18).
  std::optional<base::WallTime> not_before;
  friend bool operator==(const Run&, const Run&) = default;
};
BOOST_DESCRIBE_STRUCT(Run, (),
                      (tool_run_id, project, tool_name, execution_id, node_id, agent_id, status, reason, outcome,
                       exit_code, attempt, argv, cwd, started_at, completed_at, duration_ms, last_output_at,
                       last_heartbeat_at, last_error, progress, usage, tool_errors, metadata, paused_at, seen_at,
                       not_before))

}  // namespace reeve::model
