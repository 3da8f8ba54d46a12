#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace reeve::base {

// Every error code (base/errors.def): `run_not_running` is `run.not_running`.
enum class ErrorCode : std::uint16_t {
#define REEVE_ERROR(area, word, status, exit, means) area##_##word,
#include "base/errors.def"
};

struct ErrorRow {
  ErrorCode code;
  // "run.not_running".
  std::string_view spelling;
  int http_status;
  // If the client itself detects it.
  int exit_code;
};
// In the order of the enumerators.
std::span<const ErrorRow> error_rows() noexcept;
const ErrorRow& row_of(ErrorCode code) noexcept;
// Nothing for a code of another version.
const ErrorRow* find_row(std::string_view spelling) noexcept;

inline std::string_view spell(ErrorCode code) noexcept { return row_of(code).spelling; }

}  // namespace reeve::base
