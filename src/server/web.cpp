#include <fmt/format.h>

#include "base/text.h"
#include "runtime/store_task.h"
#include "server/api.h"
#include "server/front.h"
#include "server/insider.h"

// How a browser is let in: a link that is used once, a cookie afterwards.
namespace reeve::server {

namespace {

using base::Error;
using base::Value;

Front& front_of(const SharedExchange& exchange) {
  if (exchange->front == nullptr) throw Error("api.no_route", "this daemon has no door to TCP");
  return *exchange->front;
}

void open(SharedExchange exchange) {
  refuse_insider(exchange, "let a browser in");
  Front& front = front_of(exchange);
  const os::TcpAddress& address = front.open_for_browser();
  const std::string code = front.sign_ins().make_code(
      {exchange->actor(), {model::Scope::admin}, exchange->request.caller.token}, exchange->daemon.loop().now());
  Value document = Value::object();
  document.set("url", Value::string(fmt::format("{}/sign-in?code={}", front.url(), code)));
  document.set("address", Value::string(address.text()));
  document.set("expires_at", Value::string(base::format_time(base::SystemClock().wall_now() + SignIns::code_time)));
  exchange->send(201, document);
}

[[noreturn]] void refuse_code() {
  // Not counted: nobody guesses a code, and a page of another site could lock the person out by asking for it.
  throw Error("api.bad_code", "this link was used before, or is too old", "ask for another: reeve web");
}

// The one GET that changes something: who has the code may come in, once.
void sign_in(SharedExchange exchange) {
  Front& front = front_of(exchange);
  const Peer& peer = exchange->request.peer;
  if (peer.entrance != Entrance::tcp) throw Error("api.no_route", "browsers sign in at the daemon's port");
  auto caller = front.sign_ins().take_code(exchange->query("code").value_or(""), exchange->daemon.loop().now());
  if (!caller) refuse_code();
  Value data = Value::object();
  data.set("from", Value::string(peer.from.host()));
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [data, name = caller->name](ledger::Transaction& transaction) {
        transaction.record(model::AuditKind::sign_in, name, data);
      },
      [exchange, caller = *caller](const std::expected<void, Error>& recorded) {
        // Nobody comes in unseen.
        if (!recorded) return exchange->refuse(recorded.error());
        const SignIns::Session session = exchange->front->sign_ins().open(caller, exchange->daemon.loop().now());
        const auto life = std::chrono::duration_cast<std::chrono::seconds>(SignIns::longest_time).count();
        exchange->is_answered = true;
        exchange->responder->send(
            {.status = 303,
             .content_type = "text/plain; charset=utf-8",
             .body = "signed in\n",
             // What stands behind # is seen by the page alone, and by no other port.
             .headers = {{"Location", "/#key=" + session.key},
                         {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{}",
                                                    cookie_name(exchange->request), session.cookie, life,
                                                    is_secure(exchange->request) ? "; Secure" : "")}}});
      });
}

void sign_out(SharedExchange exchange) {
  if (const auto cookie = find_cookie(exchange->request)) front_of(exchange).sign_out(*cookie);
  exchange->send(200, Value::object());
}

void welcome(SharedExchange exchange) {
  exchange->send({.content_type = "text/plain; charset=utf-8",
                  .body = fmt::format("Welcome, {}. Reeve has no page here yet; everything it can do is under /api.\n",
                                      base::visible(exchange->actor()))});
}

}  // namespace

std::vector<Route> web_routes() {
  return {{"GET", "/", welcome},
          {"GET", "/sign-in", sign_in},
          {"POST", "/api/web", open},
          {"POST", "/api/sign-out", sign_out}};
}

}  // namespace reeve::server
