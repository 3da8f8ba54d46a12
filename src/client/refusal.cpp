#include "client/refusal.h"

#include <fmt/format.h>

#include "base/text.h"
#include "json/fields.h"
#include "json/parse.h"
#include "wire/problem.h"

namespace reeve::client {

namespace {

using base::ErrorCode;
using base::Value;

// "3 errors, 0 warnings: no tool `x`; …". A few are enough to act on; `--json` has them all.
std::string with_errors(std::string message, const Value& document) {
  constexpr std::size_t most = 3;
  const Value* found = document.find("errors");
  const Value::Array* errors = found != nullptr ? found->as_array() : nullptr;
  if (errors == nullptr) return message;
  std::size_t told = 0;
  for (const Value& error : *errors) {
    const std::string text = json::text_of(error, "message");
    if (text.empty() || text == message) continue;
    if (told++ == most) return message + "; …";
    message += (told == 1 ? ": " : "; ") + text;
  }
  return message;
}

}  // namespace

Refusal make_refusal(const Response& answer) {
  const auto parsed = json::parse(answer.body);
  const std::string code = parsed ? json::text_of(*parsed, "code") : std::string();
  if (code.empty()) {
    const base::Error error(ErrorCode::daemon_bad_answer,
                            fmt::format("the daemon responded with status {} and no explanation", answer.status),
                            "see its log in logs/ in the state folder");
    return {error, answer.status, wire::problem_document(error)};
  }
  std::string message = json::text_of(*parsed, "detail");
  if (message.empty()) message = json::text_of(*parsed, "title");
  if (message.empty()) message = fmt::format("the daemon refused the request ({})", answer.status);
  std::string fix = json::text_of(*parsed, "fix");
  // The daemon says that a token is needed; only the client knows where it takes one from.
  if (answer.status == 401) {
    fix =
        "put a token of that daemon into REEVE_TOKEN, a file for --token-file, or ~/.config/reeve/tokens; create one "
        "there with: reeve token create NAME";
  }
  return {base::Error(base::AnyErrorCode::received(code), with_errors(std::move(message), *parsed), std::move(fix)),
          answer.status, *parsed};
}

}  // namespace reeve::client
