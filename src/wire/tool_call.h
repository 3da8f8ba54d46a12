#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "model/grant.h"
#include "model/tool_call.h"

// The messages on a run's socket about tool calls (TOOL-4 … TOOL-9), and about standing grants.
namespace reeve::wire {

// The body of POST /api/tool-calls.
struct CallRequest {
  // The agent's own id of the call.
  std::string call;
  // The agent's own name of the tool.
  std::string tool;
  base::Value arguments;
  // Absolute; default: the folder of the run.
  std::optional<std::string> cwd;
  std::optional<std::string> session;
  // The id of the call that this one is part of.
  std::optional<std::string> parent;
  // The agent can end and be resumed with the answer.
  bool may_defer = false;
  // Reeve's tool host runs it once it is allowed; `result` of the reply is then set.
  bool execute = false;
  model::CallChannel channel = model::CallChannel::socket;
  // Whose names the tool has, for the table of names: "claude", "codex", "gemini", "qwen", "opencode", "acp". Empty:
  // all of them, and Reeve's own.
  std::optional<std::string> dialect;
};
BOOST_DESCRIBE_STRUCT(CallRequest, (),
                      (call, tool, arguments, cwd, session, parent, may_defer, execute, channel, dialect))

enum class CallReplyDecision { allow, deny, wait };
REEVE_DESCRIBE_ENUM(CallReplyDecision, allow, deny, wait)

// What the tool host returns.
struct CallResult {
  bool is_error = false;
  // For the agent to read; bounded.
  std::string content;
  // What it can use instead of an unavailable tool (TOOL-6).
  std::optional<std::string> hint;
  friend bool operator==(const CallResult&, const CallResult&) = default;
};
BOOST_DESCRIBE_STRUCT(CallResult, (), (is_error, content, hint))

// The answer to POST /api/tool-calls and to GET /api/tool-calls/TC-7/wait.
struct CallReply {
  base::CallId call_id{0};
  CallReplyDecision decision = CallReplyDecision::deny;
  std::string rule;
  std::optional<base::ApprovalId> approval_id;
  // For the agent: why it was denied, with the person's comment.
  std::optional<std::string> reason;
  std::optional<std::string> hint;
  // For `execute`, once the tool has run.
  std::optional<CallResult> result;
};
BOOST_DESCRIBE_STRUCT(CallReply, (), (call_id, decision, rule, approval_id, reason, hint, result))

// The body of POST /api/tool-calls/TC-7/result: what became of a call that the agent ran itself.
struct CallReport {
  bool failed = false;
  std::optional<std::string> digest;
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> duration_ms;
};
BOOST_DESCRIBE_STRUCT(CallReport, (), (failed, digest, bytes, duration_ms))

// Totals of a session since it began, in all its processes (AGT-4).
struct SessionUsage {
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::optional<double> cost_usd;
  // Of the model's context window.
  std::optional<std::int64_t> context_used;
  std::optional<std::int64_t> context_size;
  friend bool operator==(const SessionUsage&, const SessionUsage&) = default;
};
BOOST_DESCRIBE_STRUCT(SessionUsage, (),
                      (input_tokens, output_tokens, cached_tokens, cost_usd, context_used, context_size))

// The body of POST /api/session.
struct SessionReport {
  std::string session_id;
  std::string agent;
  std::optional<std::string> version;
  std::optional<std::string> model;
  std::optional<SessionUsage> usage;
};
BOOST_DESCRIBE_STRUCT(SessionReport, (), (session_id, agent, version, model, usage))

// One item of GET /api/tools.
struct HostedTool {
  std::string name;
  std::string description;
  // JSON Schema of its arguments.
  base::Value input_schema;
};
BOOST_DESCRIBE_STRUCT(HostedTool, (), (name, description, input_schema))

// What a standing grant is to cover.
struct GrantTerms {
  model::GrantScope scope = model::GrantScope::run;
  model::GrantMatch match = model::GrantMatch::exact;
  // For `path`.
  std::optional<std::string> path;
  std::optional<std::int64_t> expires_in_seconds;
  // The person has seen what else it allows: the text of the preview's `also_allows`, unchanged.
  std::optional<std::string> confirmed;
};
BOOST_DESCRIBE_STRUCT(GrantTerms, (), (scope, match, path, expires_in_seconds, confirmed))

}  // namespace reeve::wire
