#pragma once

#include "base/redaction.h"
#include "base/value.h"
#include "runtime/tool_line.h"

// LOG-4: decoding can bring a secret to light that the line hid. What was decoded is redacted before anybody stores or
// shows it.
namespace reeve::runtime {

// Every text in it, names too.
void redact_value(base::Value& value, const base::SecretSet& secrets);
void redact_event(ToolEvent& event, const base::SecretSet& secrets);

}  // namespace reeve::runtime
