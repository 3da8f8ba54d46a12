#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// The values of `when` in policy rules (TOOL-8).
namespace reeve::model {

// One of those that `when` defines; any other name is an argument of the call.
bool is_condition(std::string_view name) noexcept;
// One text or several. Nothing if the value is anything else, or empty.
std::optional<std::vector<std::string>> find_condition_texts(const base::Value& value);
// For `argv`: one argument vector or several.
std::optional<std::vector<std::vector<std::string>>> find_condition_argvs(const base::Value& value);

}  // namespace reeve::model
