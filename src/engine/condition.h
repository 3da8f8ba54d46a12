#pragma once

#include <string>
#include <string_view>

#include "base/value.h"
#include "model/workflow.h"

// Conditions on data (GRF-2). Nothing is evaluated but the closed list of operators.
namespace reeve::engine {

struct ConditionResult {
  bool holds = false;
  // Why it could not be compared: a field that is not there, types that do not compare. Empty when it was compared.
  // Such a condition is false, whatever its operator; the event says so.
  std::string doubt;
};

ConditionResult evaluate(const model::Condition& condition, const base::Value& data);

// The value of a dotted field: the member of exactly that name, else the way through objects. nullptr when there is
// none.
const base::Value* find_field(const base::Value& data, std::string_view field);

}  // namespace reeve::engine
