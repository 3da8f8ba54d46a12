#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <string_view>

#include "base/error_code.h"

namespace reeve::base {

// A failure of the outside world (disk, network, another program) that the calling code cannot fix. Thrown, and caught
// only in the few places named in docs/ARCHITECTURE.md. Invalid user input is not an Error but a Problem (problem.h).
class Error : public std::exception {
 public:
  // `message` says what failed and why, `fix` what to do; `fix` may be empty.
  Error(AnyErrorCode code, std::string message, std::string fix = {});

  // The stable text: `file.too_large`. Code compares enumerators instead.
  const std::string& code() const noexcept { return code_.text(); }
  const AnyErrorCode& error_code() const noexcept { return code_; }
  bool is(ErrorCode code) const noexcept { return code_ == code; }
  bool is_in(ErrorArea area) const noexcept { return code_.is_in(area); }
  const std::string& message() const noexcept { return message_; }
  const std::string& fix() const noexcept { return fix_; }

  // Prefixes the message with the operation that failed: "cannot read 'x.yaml': Permission denied".
  Error& within(std::string_view doing);

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  AnyErrorCode code_;
  std::string message_;
  std::string fix_;
};

// Throws an Error from errno, with the system's error text: throw_errno(ErrorCode::file_unreadable, "cannot read 'x'").
[[noreturn]] void throw_errno(ErrorCode code, std::string_view doing, int error_number, std::string fix = {});

// Aborts the process and prints where an invariant failed. Stays on in release: state is durable, so a crash is only a
// restart, whereas continuing with a wrong state could corrupt it.
[[noreturn]] void assertion_failed(const char* expression, std::source_location where) noexcept;

}  // namespace reeve::base

#define REEVE_ASSERT(expression)                        \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::reeve::base::assertion_failed(#expression, std::source_location::current()))
