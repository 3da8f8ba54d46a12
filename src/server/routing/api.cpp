#include "server/routing/api.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "server/request/request_validation.h"

namespace reeve::server {

namespace {

// Removes and returns the segment before the next slash.
std::string_view take_part(std::string_view& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

constexpr std::string_view any_text_end = "...}";

// For a pattern with `{name...}`, whose mark is at `end`.
std::optional<std::vector<std::string>> match_any_text(std::string_view pattern, std::size_t end,
                                                       std::string_view path) {
  const std::string_view before = pattern.substr(0, pattern.rfind('{', end));
  const std::string_view after = pattern.substr(end + any_text_end.size());
  const std::size_t fixed = before.size() + after.size();
  if (path.size() < fixed || !path.starts_with(before) || !path.ends_with(after)) return std::nullopt;
  return std::vector{std::string(path.substr(before.size(), path.size() - fixed))};
}

// What the names in braces match; nothing if the path does not match. Called for every operation, so it copies nothing
// before the path matches.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  if (const std::size_t end = pattern.find(any_text_end); end != std::string_view::npos) {
    return match_any_text(pattern, end, path);
  }
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return std::nullopt;
  std::vector<std::string> parts;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted.starts_with('{') && !found.empty()) {
      parts.emplace_back(found);
    } else if (wanted != found) {
      return std::nullopt;
    }
  }
  return parts;
}

// HEAD uses the operation of GET, unless one for HEAD comes before; the connection omits the body.
bool takes(const Operation& operation, std::string_view method) {
  return operation.method == method || operation.method == any_method ||
         (method == "HEAD" && operation.method == "GET");
}

}  // namespace

Api::Api(const std::vector<Operation>& operations, std::vector<Step> steps)
    : operations_(operations), steps_(std::move(steps)) {}

const Operation* Api::find(const SharedExchange& exchange) const {
  const std::string& method = exchange->request.method;
  std::vector<std::string_view> methods;
  for (const Operation& operation : operations_) {
    auto parts = match(operation.path, exchange->request.path);
    if (!parts) continue;
    methods.push_back(operation.method);
    if (!takes(operation, method)) continue;
    exchange->parts = std::move(*parts);
    return &operation;
  }
  if (methods.empty()) {
    throw base::Error(base::ErrorCode::api_no_route,
                      fmt::format("no resource at {}", base::quoted(exchange->request.path)),
                      "GET /api/openapi.json lists the routes");
  }
  exchange->send(answer_to_method(method, methods));
  return nullptr;
}

void Api::serve(const SharedExchange& exchange) const {
  // This may run while the response to another request is being sent.
  const ledger::RequestTerms::Scope own_scope(nullptr);
  exchange->go_on([&] {
    const Operation* operation = find(exchange);
    if (operation != nullptr) proceed(exchange, *operation, 0);
  });
}

void Api::proceed(const SharedExchange& exchange, const Operation& operation, std::size_t step) const {
  if (step < steps_.size()) {
    return steps_[step](exchange, operation,
                        [this, exchange, &operation, step] { proceed(exchange, operation, step + 1); });
  }
  // The request was already answered: the store did not respond and nothing was changed.
  if (exchange->is_answered) return;
  const ledger::RequestTerms::Scope scope(exchange->terms);
  operation.handle(exchange);
}

}  // namespace reeve::server
