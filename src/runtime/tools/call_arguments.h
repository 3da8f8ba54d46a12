#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"

// Arguments of a hosted call that find_argument_fault() has accepted.
namespace reeve::runtime {

std::optional<std::string> find_text(const base::Value& arguments, std::string_view name);
// Empty if there is none.
std::vector<std::string> list_texts(const base::Value& arguments, std::string_view name);
std::optional<std::int64_t> find_number(const base::Value& arguments, std::string_view name);
// False if there is none.
bool has_flag(const base::Value& arguments, std::string_view name);

}  // namespace reeve::runtime
