#include <fmt/format.h>

#include "base/text.h"
#include "server/access/in_run_caller.h"
#include "server/access/tcp_endpoint.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"

// Browser sign-in: a one-time link, then a cookie.
namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;

TcpEndpoint& tcp_endpoint_of(const SharedExchange& exchange) {
  if (exchange->tcp_endpoint == nullptr) throw Error(ErrorCode::api_no_route, "this daemon has no TCP endpoint");
  return *exchange->tcp_endpoint;
}

void open(SharedExchange exchange) {
  deny_in_run_caller(exchange, "sign a browser in");
  TcpEndpoint& tcp_endpoint = tcp_endpoint_of(exchange);
  const os::TcpAddress& address = tcp_endpoint.open_for_browser();
  const std::string code = tcp_endpoint.sign_ins().make_code(
      {exchange->actor(), {model::Scope::admin}, exchange->request.caller.token}, exchange->daemon.loop().now());
  Value document = Value::object();
  document.set("url", Value::string(fmt::format("{}/sign-in?code={}", tcp_endpoint.url(), code)));
  document.set("address", Value::string(address.text()));
  document.set("expires_at", Value::string(base::format_time(base::SystemClock().wall_now() + SignIns::code_time)));
  exchange->send(201, document);
}

[[noreturn]] void refuse_code() {
  // Not counted as a failure: codes cannot be guessed, and a page of another site could lock the user out with
  // requests.
  throw Error(ErrorCode::api_bad_code, "this link was already used or has expired", "create a new one: reeve web");
}

// The only GET with an effect: a code signs a browser in, once.
void sign_in(SharedExchange exchange) {
  TcpEndpoint& tcp_endpoint = tcp_endpoint_of(exchange);
  const Peer& peer = exchange->request.peer;
  if (peer.entrance != Entrance::tcp) {
    throw Error(ErrorCode::api_no_route, "browsers can sign in only at the daemon's TCP port");
  }
  auto caller = tcp_endpoint.sign_ins().take_code(exchange->query("code").value_or(""), exchange->daemon.loop().now());
  if (!caller) refuse_code();
  exchange->daemon.tokens().record_sign_in(
      caller->name, peer.from.host(), [exchange, caller = *caller](const std::expected<void, Error>& recorded) {
        // No sign-in without an audit entry.
        if (!recorded) return exchange->refuse(recorded.error());
        const SignIns::Session session = exchange->tcp_endpoint->sign_ins().open(caller, exchange->daemon.loop().now());
        const auto life = std::chrono::duration_cast<std::chrono::seconds>(SignIns::longest_time).count();
        exchange->is_answered = true;
        exchange->responder->send(
            {.status = 303,
             .content_type = "text/plain; charset=utf-8",
             .body = "signed in\n",
             // The fragment is visible only to the page, not to servers at other ports.
             .headers = {{"Location", "/#key=" + session.key},
                         {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}",
                                                    cookie_name(exchange->request), session.cookie, life,
                                                    is_secure(exchange->request) ? "; Secure" : "")}}});
      });
}

void sign_out(SharedExchange exchange) {
  if (const auto cookie = find_cookie(exchange->request)) tcp_endpoint_of(exchange).sign_out(*cookie);
  exchange->send(200, Value::object());
}

void welcome(SharedExchange exchange) {
  exchange->send({.content_type = "text/plain; charset=utf-8",
                  .body = fmt::format("Welcome, {}. Reeve has no page here yet; everything it can do is under /api.\n",
                                      base::visible(exchange->actor()))});
}

}  // namespace

std::vector<Operation> web_operations(json::Schemas& /*schemas*/) {
  const Value text = json::string_schema();
  const Value link =
      json::object_schema({{"url", text}, {"address", text}, {"expires_at", text}}, {"url", "address", "expires_at"});
  return {{.method = "POST",
           .path = "/api/web",
           .handle = open,
           .name = "openForBrowser",
           .inside = InRunAccess::reported,
           .summary = "Create a one-time sign-in link for a browser; opens a loopback port if none is open",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{201, link}},
           .errors = {ErrorCode::approval_inside_run, ErrorCode::api_peer_gone},
           // The link is a credential, so it is kept only in memory.
           .idempotency = IdempotencyMode::memory},
          {.method = "GET",
           .path = "/sign-in",
           .handle = sign_in,
           .name = "signIn",
           .inside = InRunAccess::anyone,
           .summary = "Sign a browser in with a one-time link; TCP port only, no credential needed",
           .query = {text_parameter("code", "the code from the link")},
           .replies = {{303, text, "text/plain"}},
           .errors = {ErrorCode::api_bad_code}},
          {.method = "POST",
           .path = "/api/sign-out",
           .handle = sign_out,
           .name = "signOut",
           .inside = InRunAccess::anyone,
           .summary = "End the calling browser's session",
           .body = json::object_schema({}, {}),
           .replies = {{200, json::object_schema({}, {})}},
           .idempotency = IdempotencyMode::memory},
          {.method = "GET",
           .path = "/",
           .handle = welcome,
           .name = "welcome",
           .inside = InRunAccess::anyone,
           .summary = "Greet a signed-in client",
           .replies = {{200, text, "text/plain"}}}};
}

}  // namespace reeve::server
