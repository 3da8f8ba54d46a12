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

// The segments that the stars match; nothing if the path does not match. Called for every route, so it copies nothing
// before the path matches.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  if (std::ranges::count(pattern, '/') != std::ranges::count(path, '/')) return std::nullopt;
  std::vector<std::string> parts;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = take_part(pattern);
    const std::string_view found = take_part(path);
    if (wanted == "*" && !found.empty()) {
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

std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (const auto& routes : {run_routes(),      approval_routes(), execution_routes(), execution_view_routes(),
                             pipeline_routes(), patch_routes(),    workflow_routes(),  tool_routes(),
                             role_routes(),     gate_routes(),     policy_routes(),    audit_routes(),
                             output_routes(),   terminal_routes(), event_routes(),     doctor_routes(),
                             daemon_routes(),   openapi_routes(),  monitor_routes(),   import_routes(),
                             token_routes(),    web_routes(),      config_routes(),    task_routes()}) {
    all.insert(all.end(), routes.begin(), routes.end());
  }
  return all;
}

Api::Api(runtime::Daemon& daemon, TcpEndpoint* tcp_endpoint)
    : daemon_(daemon),
      tcp_endpoint_(tcp_endpoint),
      keys_(std::make_unique<IdempotencyKeys>(daemon)),
      in_run_policy_(std::make_unique<InRunPolicy>(daemon)),
      pending_(std::make_unique<PendingRequests>(daemon)) {
  for (const Route& route : all_routes()) served_.push_back({route, find_operation(route.method, route.path)});
}

Api::~Api() = default;

const Api::Served* Api::find(const SharedExchange& exchange) const {
  // HEAD uses the route of GET; the connection omits the body.
  const std::string& method = exchange->request.method;
  const std::string_view wanted = method == "HEAD" ? "GET" : std::string_view(method);
  std::vector<std::string_view> methods;
  for (const Served& served : served_) {
    auto parts = match(served.route.path, exchange->request.path);
    if (!parts) continue;
    methods.push_back(served.route.method);
    if (served.route.method != wanted) continue;
    exchange->parts = std::move(*parts);
    return &served;
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
    const Served* served = find(exchange);
    if (served != nullptr) serve(exchange, *served);
  });
}

void Api::serve(const SharedExchange& exchange, const Served& served) {
  const Route& route = served.route;
  require_access(exchange->request, served.operation);
  check_content_type(exchange->request);
  // Stored changes might be lost, so none are accepted. Stopping the daemon is not a change.
  if (route.method != "GET" && route.path != "/api/daemon/stop") {
    if (const auto refusal = daemon_.check_files()) throw *refusal;
  }
  if (served.operation == nullptr) return route.handle(exchange);
  const Operation& operation = *served.operation;
  check_query(operation, exchange->request);
  if (!operation.body.is_null()) check_body(operation, exchange->body());
  if (operation.is_tagged) exchange->responder = tag_answer(exchange->responder, exchange->request);
  // HEAD of a followed stream must not wait for its content.
  if (exchange->request.method == "HEAD") exchange->request.query.erase("follow");
  pending_->add(exchange);
  const auto work = [exchange, handle = route.handle] {
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
