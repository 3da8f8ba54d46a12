#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "model/workflow.h"

// Conditions on data (GRF-2): a closed list of operators, and no other evaluation.
namespace reeve::engine {

struct ConditionResult {
  bool holds = false;
  // Why the condition could not be evaluated: a missing field, types that do not compare. Empty if it was. Such a
  // condition is false, whatever its operator; the event says so.
  std::string doubt;
};

ConditionResult evaluate(const model::Condition& condition, const base::Value& data);

// The value of a dotted field: the member with exactly that name, else the path through nested objects. nullptr if
// there is none.
const base::Value* find_field(const base::Value& data, std::string_view field);

}  // namespace reeve::engine
