#include "server/routing/api.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "os/user.h"
#include "server/access/access.h"
#include "server/access/in_run_policy.h"
#include "server/contract/operations.h"
#include "server/request/idempotency_keys.h"
#include "server/request/pending_requests.h"
#include "server/request/recorder.h"
#include "server/request/request_validation.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;

// Removes and returns the segment before the next slash.
std::string_view take_part(std::string_view& rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view part = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return part;
}

// The segments that the names in braces match; nothing if the path does not match. Called for every operation, so it
// copies nothing before the path matches.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
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

Error bad_request(std::string message, std::string fix = {}) {
  return {"api.bad_request", std::move(message), std::move(fix)};
}

}  // namespace

Api::Api(runtime::Daemon& daemon, const Contract& contract, TcpEndpoint* tcp_endpoint)
    : daemon_(daemon),
      contract_(contract),
      tcp_endpoint_(tcp_endpoint),
      keys_(std::make_unique<IdempotencyKeys>(daemon)),
      in_run_policy_(std::make_unique<InRunPolicy>(daemon)),
      pending_(std::make_unique<PendingRequests>(daemon)) {}

Api::~Api() = default;

const Operation* Api::find(const SharedExchange& exchange) const {
  // HEAD uses the operation of GET; the connection omits the body.
  const std::string& method = exchange->request.method;
  const std::string_view wanted = method == "HEAD" ? "GET" : std::string_view(method);
  std::vector<std::string_view> methods;
  for (const Operation& operation : contract_.operations) {
    auto parts = match(operation.path, exchange->request.path);
    if (!parts) continue;
    methods.push_back(operation.method);
    if (operation.method != wanted) continue;
    exchange->parts = std::move(*parts);
    return &operation;
  }
  if (methods.empty()) {
    throw Error("api.no_route", fmt::format("no resource at {}", base::quoted(exchange->request.path)),
                "GET /api/openapi.json lists the routes");
  }
  exchange->send(answer_to_method(method, methods));
  return nullptr;
}

void Api::handle(Request request, std::shared_ptr<Responder> responder) {
  // This may run while the response to another request is being sent.
  const ledger::RequestTerms::Scope own_scope(nullptr);
  responder = record_exchange(request, std::move(responder));
  auto exchange = std::make_shared<Exchange>(Exchange{daemon_, std::move(request), std::move(responder), {}});
  exchange->tcp_endpoint = tcp_endpoint_;
  exchange->look_up = [this, asked = std::weak_ptr(exchange)](std::string path, std::function<void(Response)> take) {
    const auto alive = asked.lock();
    if (!alive) return;
    handle(make_look_up(alive->request, std::move(path)),
           capture([alive, take = std::move(take)](Response response) { take(std::move(response)); }));
  };
  exchange->go_on([&] {
    // A proxy in front may have checked a different path.
    if (exchange->request.has_escaped_slash) throw bad_request("the path contains an escaped slash");
    const Operation* operation = find(exchange);
    if (operation != nullptr) serve(exchange, *operation);
  });
}

void Api::serve(const SharedExchange& exchange, const Operation& operation) {
  require_access(exchange->request, &operation);
  check_content_type(exchange->request);
  // Stored changes might be lost, so none are accepted. Stopping the daemon is not a change.
  if (operation.method != "GET" && operation.path != "/api/daemon/stop") {
    if (const auto refusal = daemon_.check_files()) throw *refusal;
  }
  check_query(operation, exchange->request);
  if (!operation.body.is_null()) check_body(contract_.schemas, operation, exchange->body());
  if (operation.is_tagged) exchange->responder = tag_answer(exchange->responder, exchange->request);
  // HEAD of a followed stream must not wait for its content.
  if (exchange->request.method == "HEAD") exchange->request.query.erase("follow");
  pending_->add(exchange);
  const auto work = [exchange, &handle = operation.handle] {
    // The request was already answered: the store did not respond and nothing was changed.
    if (exchange->is_answered) return;
    const ledger::RequestTerms::Scope scope(exchange->terms);
    handle(exchange);
  };
  in_run_policy_->admit(exchange, operation, [this, exchange, idempotency = operation.idempotency, work] {
    keys_->admit(exchange, idempotency, [exchange, work] { check_precondition(exchange, work); });
  });
}

}  // namespace reeve::server
