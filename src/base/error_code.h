#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace reeve::base {

// Every error code (base/errors.def): `run_not_running` is `run.not_running`.
enum class ErrorCode : std::uint16_t {
#define REEVE_ERROR(area, word, status, exit, means) area##_##word,
#include "base/errors.def"
};

// Areas that are handled as a whole: `store` is every `store.…`.
enum class ErrorArea : std::uint8_t { file, state, store };

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

// A code as it is sent and shown. It may come from another version of Reeve, so it is text.
class AnyErrorCode {
 public:
  AnyErrorCode() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): code that reports an error writes the enumerator.
  AnyErrorCode(ErrorCode code) : text_(spell(code)) {}
  // From another process.
  static AnyErrorCode received(std::string text) {
    AnyErrorCode code;
    code.text_ = std::move(text);
    return code;
  }

  const std::string& text() const noexcept { return text_; }
  bool is_in(ErrorArea area) const noexcept;

  friend bool operator==(const AnyErrorCode&, const AnyErrorCode&) = default;
  friend bool operator==(const AnyErrorCode& left, ErrorCode right) noexcept { return left.text_ == spell(right); }

 private:
  std::string text_;
};

}  // namespace reeve::base
