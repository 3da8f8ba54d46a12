#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/id.h"
#include "base/value.h"
#include "model/describe.h"
#include "model/project_ref.h"

// A tool call of an agent that reached Reeve, through any channel (TOOL-7).
namespace reeve::model {

// `ask`: a person decides.
enum class CallDecision { allow, ask, deny };
REEVE_DESCRIBE_ENUM(CallDecision, allow, ask, deny)

// `deferred`: the agent ended while the call waited; `lost`: it may have run, nobody knows; `ungated`: a result for a
// call that was not allowed; `withdrawn`: the agent continued without an answer.
enum class CallOutcome { ran, failed, denied, deferred, lost, ungated, withdrawn };
REEVE_DESCRIBE_ENUM(CallOutcome, ran, failed, denied, deferred, lost, ungated, withdrawn)

// How the call reached Reeve.
enum class CallChannel { line, socket, hook, mcp, adapter };
REEVE_DESCRIBE_ENUM(CallChannel, line, socket, hook, mcp, adapter)

struct ToolCall {
  base::CallId call_id{0};
  std::optional<ProjectRef> project;
  base::RunId tool_run_id{0};
  int attempt = 1;
  std::optional<std::string> session_id;
  // The agent's own id of the call, and of the call that this one is part of.
  std::string native_id;
  std::optional<std::string> parent_native_id;
  // As the agent names it, and Reeve's name.
  std::string native_tool;
  std::string tool;
  // Without secrets, at most 16 KiB.
  base::Value arguments;
  // Of tool, arguments and folder, before anything was cut or redacted.
  std::string arguments_digest;
  std::string cwd;
  // What the rules said, and which.
  CallDecision decision = CallDecision::ask;
  std::string rule;
  std::optional<std::string> reason;
  std::optional<base::ApprovalId> approval_id;
  std::optional<base::GrantId> grant_id;
  std::optional<std::string> decided_by;
  // What the agent was told: allow or deny. Empty while the call waits.
  std::optional<CallDecision> answer;
  base::WallTime asked_at;
  std::optional<base::WallTime> answered_at;
  std::optional<CallOutcome> outcome;
  std::optional<std::string> result_digest;
  std::optional<std::int64_t> result_bytes;
  std::optional<std::int64_t> duration_ms;
  CallChannel channel = CallChannel::socket;
  friend bool operator==(const ToolCall&, const ToolCall&) = default;
};
BOOST_DESCRIBE_STRUCT(ToolCall, (),
                      (call_id, project, tool_run_id, attempt, session_id, native_id, parent_native_id, native_tool,
                       tool, arguments, arguments_digest, cwd, decision, rule, reason, approval_id, grant_id,
                       decided_by, answer, asked_at, answered_at, outcome, result_digest, result_bytes, duration_ms,
                       channel))

}  // namespace reeve::model
