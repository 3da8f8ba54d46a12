#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// What people read in the run's output. An agent chooses most of the text, and the daemon looks for events, progress
// and errors in a run's output (runtime/output/tool_line.h): no line made here is one, whatever the agent wrote.
namespace reeve::adapter {

// One line, without newlines and control characters, at most that many bytes.
std::string make_line(std::string_view prefix, std::string_view text, std::size_t max_bytes = 8'192);

// What the agent said: "| It works."
std::vector<std::string> make_said_lines(std::string_view text);
// "> Bash git status"
std::string make_call_line(std::string_view tool, const base::Value& arguments);
// A line of its standard error: "claude: Warning: …"
std::string make_error_line(std::string_view agent, std::string_view line);

// The arguments of a call on one line of at most 200 characters: the command, path or address alone, if there is one.
std::string summarize_arguments(const base::Value& arguments);

}  // namespace reeve::adapter
