#pragma once

#include "base/redaction.h"
#include "base/value.h"
#include "runtime/output/tool_line.h"

// LOG-4: decoding can reveal a secret that was escaped in the line, so decoded values are redacted before they are
// stored or shown.
namespace reeve::runtime {

// Redacts every string, including keys.
void redact_value(base::Value& value, const base::SecretSet& secrets);
void redact_event(ToolEvent& event, const base::SecretSet& secrets);

}  // namespace reeve::runtime
