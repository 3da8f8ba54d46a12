#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace reeve::base {

Error::Error(AnyErrorCode code, std::string message, std::string fix)
    : code_(std::move(code)), message_(std::move(message)), fix_(std::move(fix)) {}

Error& Error::within(std::string_view doing) {
  message_ = fmt::format("{}: {}", doing, message_);
  return *this;
}

void throw_errno(ErrorCode code, std::string_view doing, int error_number, std::string fix) {
  throw Error(code, fmt::format("{}: {}", doing, std::generic_category().message(error_number)), std::move(fix));
}

void assertion_failed(const char* expression, std::source_location where) noexcept {
  std::fprintf(stderr, "reeve: bug: %s does not hold in %s (%s:%u)\n", expression, where.function_name(),
               where.file_name(), where.line());
  std::abort();
}

}  // namespace reeve::base
