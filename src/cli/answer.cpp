#include "cli/answer.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/shown_id.h"
#include "json/encode.h"
#include "view/problem_text.h"
#include "wire/problem.h"

namespace reeve::cli {

void print_error_text(std::string_view text) noexcept {
  // Flushed first, so that the order is right if both streams go to one pipe. stdout remembers a failure, which is
  // reported at the end.
  static_cast<void>(std::fflush(stdout));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_json(const Call& call, const base::Value& document) {
  fmt::print("{}\n", call.out_is_terminal ? json::encode_pretty(document) : json::encode(document));
}

void JsonListing::add(const base::Value& record) {
  const std::string_view before = form_ == Form::lines ? "" : is_empty_ ? "[" : ",\n";
  fmt::print("{}{}{}", before, json::encode(record), form_ == Form::lines ? "\n" : "");
  is_empty_ = false;
}

void JsonListing::end() {
  if (form_ == Form::array) fmt::print("{}]\n", is_empty_ ? "[" : "");
}

void print_next(const Call& call, std::string_view what) {
  if (!call.is_json)
    print_aside("{}\n", call.err.paint(view::Tint::dim, fmt::format("next: {}", with_prefix(call, what))));
}

ExitCode refuse(const Call& call, base::ErrorCode code, std::string_view title, const base::Problems& problems,
                std::string_view ending) {
  if (call.is_json) {
    print_json(call, wire::problem_document(code, title, problems));
  } else {
    print_aside("{}{}. {}\n", view::problems_text(problems, call.err), view::count_text(problems), ending);
  }
  return ExitCode::usage;
}

void print_warnings(const Call& call, const base::Problems& warnings) {
  if (!call.is_json && !warnings.empty()) print_aside("{}", view::problems_text(warnings, call.err));
}

}  // namespace reeve::cli
