#pragma once

#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "json/decode.h"
#include "json/parse.h"

namespace reeve::store {

// Limits for stored JSON. It was bounded when written, so these are wider than the limits for untrusted input.
inline constexpr json::ParseLimits stored_limits{.bytes = 256 * base::limits::mib, .values = 50'000'000};

// Throws `store.damaged` for data that this program cannot have written.
template <class T>
T decode_stored(std::string_view text) {
  const auto parsed = json::parse(text, stored_limits);
  auto value = parsed ? json::from_value<T>(*parsed) : std::unexpected(parsed.error().text());
  if (!value) {
    throw base::Error(base::ErrorCode::store_damaged, fmt::format("stored data cannot be read: {}", value.error()));
  }
  return std::move(*value);
}

template <class Id>
std::optional<std::int64_t> number_of(const std::optional<Id>& id) {
  return id ? std::optional(id->number()) : std::nullopt;
}

}  // namespace reeve::store
