#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <string_view>

namespace reeve::base {

// A failure of the world (disk, network, another program) that the code at hand cannot mend. Thrown, and caught only in
// the few named places of docs/ARCHITECTURE.md. Wrong input of a person is not an Error but a Problem (problem.h).
class Error : public std::exception {
 public:
  // `code` is stable and documented (`file.too_large`), `message` says what failed and why, `fix` what to do; `fix` may
  // be empty.
  Error(std::string code, std::string message, std::string fix = {});

  const std::string& code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& fix() const noexcept { return fix_; }

  // Puts what was being done in front of the message: "cannot read 'x.yaml': Permission denied".
  Error& within(std::string_view doing);

  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string code_;
  std::string message_;
  std::string fix_;
};

// An Error from errno, with the system's own words: throw_errno("file.unreadable", "cannot read 'x'").
[[noreturn]] void throw_errno(std::string code, std::string_view doing, int error_number, std::string fix = {});

// Ends the process with the place of the broken promise. Stays on in release: state is durable, a crash is a restart,
// and going on with a wrong state is neither.
[[noreturn]] void assertion_failed(const char* expression, std::source_location where) noexcept;

}  // namespace reeve::base

#define REEVE_ASSERT(expression)                        \
  (static_cast<bool>(expression) ? static_cast<void>(0) \
                                 : ::reeve::base::assertion_failed(#expression, std::source_location::current()))
