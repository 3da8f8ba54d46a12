#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/problem.h"
#include "base/value.h"
#include "cli/command.h"

// The manners of answering (UX): results on standard output, everything else on standard error.
namespace reeve::cli {

// Text on standard error. That nobody can read it changes nothing about what was done.
void print_error_text(std::string_view text) noexcept;
template <class... Args>
void print_aside(fmt::format_string<Args...> format, Args&&... args) {
  print_error_text(fmt::format(format, std::forward<Args>(args)...));
}

// One JSON document: indented on a terminal, one line otherwise.
void print_json(const Call& call, const base::Value& document);
// Records that come one by one: one array, or where there is no end to wait for, one document a line. Each is handed on
// when the caller flushes.
class JsonListing {
 public:
  enum class Form { array, lines };
  explicit JsonListing(Form form) : form_(form) {}
  void add(const base::Value& record);
  void end();

 private:
  Form form_;
  bool is_empty_ = true;
};
// A hint on standard error: "next: reeve flow graph x.yaml". Not with --json.
void print_next(const Call& call, std::string_view what);
// The problems of a file: text on standard error, or with --json the problem document on standard output. `ending` says
// what follows from them: "Nothing was started.".
ExitCode refuse(const Call& call, std::string_view code, std::string_view title, const base::Problems& problems,
                std::string_view ending);
// Warnings of something that was accepted, on standard error. Not with --json.
void print_warnings(const Call& call, const base::Problems& warnings);

}  // namespace reeve::cli
