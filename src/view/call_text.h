#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "model/tool_call.h"
#include "view/status.h"
#include "view/style.h"
#include "view/table.h"

// Tool calls as text for people. Text from agents is shown exactly, with control
// characters made visible (LOG-3): what is approved is what is shown.
namespace reeve::view {

// What a call does, on one line: its command, its paths or its address; otherwise its arguments as JSON.
std::string call_subject(const base::Value& arguments);
// "allow: default", "ask AP-3, allowed by ana", "deny: policies.tools.git_push".
std::string call_decision(const model::ToolCall& call);
// The outcome; "waiting" while a person has not answered, "allowed" while nothing is known about the end.
std::string call_outcome(const model::ToolCall& call);
Look look_of(const model::ToolCall& call) noexcept;

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table calls_table(const std::vector<model::ToolCall>& calls, const Style& style, std::optional<base::WallTime> now);
// One call in full, one field per line. `now` as above.
std::string call_details(const model::ToolCall& call, const Style& style, std::optional<base::WallTime> now);

// The arguments of a call, each under its name: commands line by line, edits and diffs coloured, other values as JSON.
// Of each argument at most `most` lines, then how many more there are.
std::vector<std::string> argument_lines(const base::Value& arguments, const Style& style, std::size_t most);

}  // namespace reeve::view
