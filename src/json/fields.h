#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// Reads single members of a foreign document; a member that is missing or has another type is treated as absent.
namespace reeve::json {

// Empty if absent.
std::string text_of(const base::Value& document, std::string_view key);
std::optional<std::int64_t> integer_of(const base::Value& document, std::string_view key);

template <class Id>
std::optional<Id> id_of(const base::Value& document, std::string_view key) {
  return Id::parse(text_of(document, key));
}

}  // namespace reeve::json
