#pragma once

#include <string>

#include "base/value.h"

// Events of the store as text for people. Text from tools is sanitized (LOG-3).
namespace reeve::view {

// The subject: "AP-4", "TR-17", "PA-3", "EX-9/deploy".
std::string event_subject(const base::Value& event);
// The new status or state; empty if it has none.
std::string event_status(const base::Value& event);
// Details for the line: the tool, what was asked or answered, how it ended and why. May be empty.
std::string event_note(const base::Value& event);

}  // namespace reeve::view
