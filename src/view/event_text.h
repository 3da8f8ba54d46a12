#pragma once

#include <string>

#include "base/value.h"

// Events of the store as people read them. What tools wrote is harmless in all of it (LOG-3).
namespace reeve::view {

// What it is about: "AP-4", "TR-17", "PA-3", "EX-9/deploy".
std::string event_subject(const base::Value& event);
// Its new status or state; empty where it has none.
std::string event_status(const base::Value& event);
// What else a person wants to know on that line: which tool, what was asked or answered, how it ended and why. Empty
// when there is nothing.
std::string event_note(const base::Value& event);

}  // namespace reeve::view
