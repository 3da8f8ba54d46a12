#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/problem.h"
#include "base/value.h"
#include "cli/command.h"

// Output conventions (UX): results on standard output, everything else on standard error.
namespace reeve::cli {

// Prints on standard error. Write errors are ignored: the work is done.
void print_error_text(std::string_view text) noexcept;
template <class... Args>
void print_aside(fmt::format_string<Args...> format, Args&&... args) {
  print_error_text(fmt::format(format, std::forward<Args>(args)...));
}

// One JSON document: indented on a terminal, one line otherwise.
void print_json(const Call& call, const base::Value& document);
// Prints records one by one: as one array or, for endless streams, as one document per line. The caller flushes.
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
// The problems of a file: text on standard error, or with --json the problem document on standard output. `ending`
// states the consequence: "Nothing was started.".
ExitCode refuse(const Call& call, base::ErrorCode code, std::string_view title, const base::Problems& problems,
                std::string_view ending);
// Warnings about accepted input, on standard error. Not with --json.
void print_warnings(const Call& call, const base::Problems& warnings);

}  // namespace reeve::cli
