#include "server/routing/daemon_api.h"

#include <functional>
#include <utility>

#include "base/error.h"
#include "server/access/access.h"
#include "server/access/project_policy.h"
#include "server/request/recorder.h"
#include "server/request/request_validation.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

// A proxy in front may have checked a different path.
void refuse_escaped_slash(const Request& request) {
  if (request.has_escaped_slash) throw Error(ErrorCode::api_bad_request, "the path contains an escaped slash");
}

void require_scope(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  require_access(exchange->request, &operation);
  next();
}

void require_project(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  admit_limited_caller(exchange, operation, next);
}

void find_known_project(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  admit_known_project(exchange, operation, next);
}

void require_json(const SharedExchange& exchange, const Operation& /*operation*/, const Next& next) {
  check_content_type(exchange->request);
  next();
}

void check_parameters(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  check_query(operation, exchange->request);
  next();
}

void tag_response(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  if (operation.is_tagged) exchange->responder = tag_answer(exchange->responder, exchange->request);
  next();
}

// HEAD of a followed stream must not wait for its content.
void stop_following_on_head(const SharedExchange& exchange, const Operation& /*operation*/, const Next& next) {
  if (exchange->request.method == "HEAD") exchange->request.query.erase("follow");
  next();
}

void check_if_match(const SharedExchange& exchange, const Operation& /*operation*/, const Next& next) {
  check_precondition(exchange, next);
}

}  // namespace

DaemonApi::DaemonApi(runtime::Daemon& daemon, const Contract& contract, TcpEndpoint* tcp_endpoint)
    : daemon_(daemon),
      contract_(contract),
      tcp_endpoint_(tcp_endpoint),
      keys_(daemon),
      in_run_policy_(daemon),
      pending_(daemon),
      api_(contract.operations, make_steps()) {}

std::vector<Step> DaemonApi::make_steps() {
  return {require_scope,
          require_json,
          std::bind_front(&DaemonApi::require_files, this),
          check_parameters,
          std::bind_front(&DaemonApi::check_members, this),
          tag_response,
          stop_following_on_head,
          std::bind_front(&DaemonApi::limit_wait_for_store, this),
          std::bind_front(&DaemonApi::admit_in_run_caller, this),
          require_project,
          find_known_project,
          std::bind_front(&DaemonApi::admit_idempotency_key, this),
          check_if_match};
}

// Stored changes might be lost, so none are accepted. Stopping the daemon is not a change.
void DaemonApi::require_files(const SharedExchange& /*exchange*/, const Operation& operation, const Next& next) const {
  if (operation.method != "GET" && operation.path != "/api/daemon/stop") {
    if (const auto refusal = daemon_.check_files()) throw *refusal;
  }
  next();
}

void DaemonApi::check_members(const SharedExchange& exchange, const Operation& operation, const Next& next) const {
  if (!operation.body.is_null()) check_body(contract_.schemas, operation, exchange->body());
  next();
}

void DaemonApi::limit_wait_for_store(const SharedExchange& exchange, const Operation& /*operation*/, const Next& next) {
  pending_.add(exchange);
  next();
}

void DaemonApi::admit_in_run_caller(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  in_run_policy_.admit(exchange, operation, next);
}

void DaemonApi::admit_idempotency_key(const SharedExchange& exchange, const Operation& operation, const Next& next) {
  keys_.admit(exchange, operation.idempotency, next);
}

void DaemonApi::handle(Request request, std::shared_ptr<Responder> responder) {
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
    refuse_escaped_slash(exchange->request);
    api_.serve(exchange);
  });
}

}  // namespace reeve::server
