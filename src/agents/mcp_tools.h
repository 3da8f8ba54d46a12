#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "wire/tool_call.h"

// The tools of `reeve mcp` besides those of the tool host: their descriptions, and what their arguments ask for. Pure.
namespace reeve::agents {

inline constexpr std::string_view approve_tool = "approve";
inline constexpr std::string_view ask_person_tool = "ask_person";
inline constexpr std::string_view report_progress_tool = "report_progress";
inline constexpr std::string_view read_context_tool = "read_context";

// Of `report_progress` outside of runs, in bytes.
inline constexpr std::size_t max_progress_message = 1'000;

// Inside a run: all four. Outside: `ask_person` and `report_progress`.
const std::vector<wire::HostedTool>& run_tools();
const std::vector<wire::HostedTool>& outside_tools();
// At the daemon's port: the same, except that a wait can be continued with the reference of its question.
const std::vector<wire::HostedTool>& port_tools();

// The arguments of `approve`, as Claude Code's permission prompt tool gets them. `new_call` names a call without an id.
std::expected<wire::CallRequest, std::string> parse_approve(const base::Value& arguments, std::string_view new_call);
// The texts that the agent expects from it.
std::string approve_allow(const base::Value& input);
std::string approve_deny(std::string_view message);

// The body of POST /api/approvals; `name` is this question's own.
std::expected<base::Value, std::string> parse_question(const base::Value& arguments, std::string_view name);

// `ask_person` outside of runs.
struct OutsideQuestion {
  // The name under which the question can be asked for again.
  std::string reference;
  // The body of POST /api/questions; unset if the call only names an earlier question.
  std::optional<base::Value> body = {};
};
// `new_reference` names a question that has no name of its own.
std::expected<OutsideQuestion, std::string> parse_outside_question(const base::Value& arguments,
                                                                   std::string_view new_reference);
// How to continue a wait without an answer.
std::string describe_unanswered(std::string_view reference);

// What the person decided, from the approval's record. An error if nobody did.
std::expected<std::string, std::string> describe_decision(const base::Value& approval);

// The body of POST /api/report.
std::expected<base::Value, std::string> parse_progress(const base::Value& arguments);
// The body of POST /api/progress, which is for reports from outside of runs.
std::expected<base::Value, std::string> parse_outside_progress(const base::Value& arguments);
// What became of it.
std::string_view describe_progress(bool is_kept) noexcept;

}  // namespace reeve::agents
