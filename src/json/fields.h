#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// Single members of a document that somebody else made: what is not there, or is of another kind, is nothing.
namespace reeve::json {

// Empty for nothing.
std::string text_of(const base::Value& document, std::string_view key);
std::optional<std::int64_t> integer_of(const base::Value& document, std::string_view key);

template <class Id>
std::optional<Id> id_of(const base::Value& document, std::string_view key) {
  return Id::parse(text_of(document, key));
}

}  // namespace reeve::json
