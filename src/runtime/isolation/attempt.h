#pragma once

#include <exception>
#include <expected>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::runtime {

// Returns what `act` returns, or its exception as an error. std::filesystem throws its own types.
template <class Act>
std::expected<std::invoke_result_t<const Act&>, base::Error> attempt(const Act& act) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<const Act&>>) {
      act();
      return {};
    } else {
      return act();
    }
  } catch (const base::Error& error) {
    return std::unexpected(error);
  } catch (const std::exception& failure) {
    return std::unexpected(base::Error(base::ErrorCode::os_failed, failure.what()));
  }
}

// For work that no request waits for: logs the error. Returns whether it succeeded.
template <class Log, class Act>
bool attempt_or_log(const Log& log_warning, std::string_view what, const Act& act) {
  const std::expected<void, base::Error> result = attempt(act);
  if (!result) log_warning(fmt::format("{}: {}", what, result.error().message()));
  return result.has_value();
}

}  // namespace reeve::runtime
