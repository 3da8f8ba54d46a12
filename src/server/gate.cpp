#include "server/gate.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "server/http_upgrade.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;

constexpr std::string_view sign_in_hint =
    "show a token (Authorization: Bearer …), made with: reeve token create NAME; a browser is let in by: reeve web";

std::size_t count_headers(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.headers, [&](const auto& header) { return base::to_ascii_lower(header.first) == name; }));
}

bool changes_something(const Request& request) { return request.method != "GET" && request.method != "HEAD"; }
bool announces_body(const Request& request) {
  return request.header("content-length").value_or("0") != "0" || request.header("transfer-encoding");
}

// "name:port" in two; without a port the second is empty.
std::pair<std::string_view, std::string_view> split_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::size_t bracket = text.rfind(']');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (!has_port) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// What is open to all: without a body, so that it costs nothing.
bool is_open(const Request& head) {
  return head.method == "GET" && (head.path == "/healthz" || head.path == "/sign-in") && !announces_body(head);
}

void check_single_headers(const Request& head) {
  constexpr auto single =
      std::to_array<std::string_view>({"host", "origin", "authorization", "cookie", "content-type"});
  for (const std::string_view name : single) {
    if (count_headers(head, name) > 1) {
      throw Error("api.bad_request", fmt::format("there is more than one header `{}`", name), "send it once");
    }
  }
}

Error forged(std::string message) {
  return {"api.forged", std::move(message),
          "a page of this daemon sends the key of its sign-in as Reeve-Request (docs/API.md), and with changes Origin"};
}

}  // namespace

Response Gate::refusal(const Peer& peer, const Error& error) const {
  Response response{.status = wire::http_status(error.code()),
                    .content_type = "application/problem+json",
                    .body = json::encode(wire::problem_document(error))};
  if (response.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"reeve\"");
  const auto pause = failures_.find_pause(peer.from, loop_.now());
  if (response.status == 429 && pause) response.headers.emplace_back("Retry-After", std::to_string(pause->count()));
  return response;
}

std::string cookie_name(const Request& request) {
  return fmt::format("{}reeve_session_{}", is_secure(request) ? "__Host-" : "", request.peer.to.port);
}

std::optional<std::string> find_cookie(const Request& request) {
  const auto header = request.header("cookie");
  if (!header) return std::nullopt;
  const std::string name = cookie_name(request) + "=";
  for (const std::string_view part : base::split(*header, ';')) {
    const std::string_view pair = base::trim(part);
    if (pair.starts_with(name)) return std::string(pair.substr(name.size()));
  }
  return std::nullopt;
}

bool is_secure(const Request& request) {
  // What a proxy says can only make the cookie stricter.
  return request.peer.is_encrypted || request.header("x-forwarded-proto") == "https";
}

void Gate::check_host(const Request& head) const {
  const auto host = head.header("host");
  if (!host || host->empty()) throw Error("api.bad_request", "there is no Host", "send HTTP/1.1 with a Host header");
  const std::string wanted = base::to_ascii_lower(*host);
  const auto [name, port] = split_port(wanted);
  const os::TcpAddress& to = head.peer.to;
  const std::string_view usual = head.peer.is_encrypted ? "443" : "80";
  const bool is_our_port = (port.empty() ? usual : port) == std::to_string(to.port);
  if (is_our_port) {
    const std::string ours = to.is_v4() ? to.host() : fmt::format("[{}]", to.host());
    if (name == ours || (to.is_loopback() && (name == "localhost" || name == "127.0.0.1" || name == "[::1]"))) return;
  }
  for (const std::string& allowed : rules_.allowed_hosts) {
    const std::string lower = base::to_ascii_lower(allowed);
    if (lower == wanted || (split_port(lower).second.empty() && lower == name)) return;
  }
  throw Error("api.wrong_host", fmt::format("this daemon is not {}", base::quoted(*host)),
              "name it in server.allowed_hosts of the config if it is");
}

// Only a browser sends an Origin, and only that of the page that asks.
void Gate::check_origin(const Request& head) const {
  const std::string site = head.header("sec-fetch-site").value_or("none");
  const bool is_visit = head.method == "GET" && head.header("sec-fetch-mode").value_or("") == "navigate" &&
                        (head.path == "/" || head.path == "/sign-in");
  const bool is_foreign = site != "none" && site != "same-origin" && !is_visit;
  const auto origin = head.header("origin");
  if (!origin && !is_foreign) return;
  if (!is_foreign) {
    const std::string host = base::to_ascii_lower(head.header("host").value_or(""));
    const std::string given = base::to_ascii_lower(*origin);
    const bool may_be_plain = !head.peer.is_encrypted;
    const bool may_be_encrypted = head.peer.is_encrypted || rules_.is_behind_proxy;
    if ((may_be_plain && given == "http://" + host) || (may_be_encrypted && given == "https://" + host)) return;
  }
  throw Error("api.wrong_origin",
              fmt::format("a page of {} may not ask here", base::quoted(origin.value_or("another site"))),
              "ask from a page of this daemon, or without a browser and with a token");
}

void Gate::require_patience(const Peer& peer) const {
  if (const auto pause = failures_.find_pause(peer.from, loop_.now())) {
    throw Error("api.too_many_failures",
                fmt::format("too many wrong credentials came from {}; none is looked at for {} s", peer.from.host(),
                            pause->count()),
                "wait, then show the right one");
  }
}

void Gate::admit(const Request& head, const std::function<void(Admission)>& decided) {
  try {
    check_single_headers(head);
    check_host(head);
    check_origin(head);
    if (const auto authorization = head.header("authorization")) {
      return admit_token(head, *authorization, decided);
    }
    if (is_open(head)) return decided({});
    if (const auto cookie = find_cookie(head)) return admit_browser(head, *cookie, decided);
    throw Error("api.unauthorized", "there is no credential", std::string(sign_in_hint));
  } catch (const Error& error) {
    decided({.refusal = refusal(head.peer, error)});
  }
}

void Gate::check_page(const Request& head, const std::string& session) const {
  const bool is_upgrade = head.header("upgrade").has_value();
  if ((changes_something(head) || is_upgrade) && !head.header("origin")) throw forged("there is no Origin");
  // Browsers send the cookie to whatever listens at another port of this host too; the key stays with the page.
  const bool is_page = !changes_something(head) && !is_upgrade && head.path == "/";
  if (is_page) return;
  const auto key = is_upgrade ? find_offered_key(head) : head.header("reeve-request");
  if (!key || !sign_ins_.is_key(session, *key)) throw forged("the key of the sign-in is missing, or is another's");
}

void Gate::admit_browser(const Request& head, const std::string& cookie,
                         const std::function<void(Admission)>& decided) {
  const Error over("api.unauthorized", "this browser is signed in no more", "sign in again: reeve web");
  auto caller = sign_ins_.find(cookie, loop_.now());
  if (!caller) throw over;
  check_page(head, caller->session);
  if (caller->token.empty()) return decided({.caller = std::move(*caller), .is_known = true});
  // It is in as long as the token that its link was asked for with.
  const std::string token = caller->token;
  tokens_.find_hashed(
      token, [this, peer = head.peer, decided, over, caller = std::move(*caller)](const TokenBook::Found& found) {
        if (!found) return decided({.refusal = refusal(peer, found.error())});
        if (*found) return decided({.caller = caller, .is_known = true});
        sign_ins_.forget_token(caller.token);
        decided({.refusal = refusal(peer, over)});
      });
}

void Gate::admit_token(const Request& head, const std::string& authorization,
                       const std::function<void(Admission)>& decided) {
  constexpr std::string_view scheme = "bearer ";
  const bool is_bearer = base::to_ascii_lower(std::string_view(authorization).substr(0, scheme.size())) == scheme;
  const std::string secret = is_bearer ? std::string(base::trim(authorization.substr(scheme.size()))) : std::string();
  // One that was right lately is not locked out by others at the same address.
  if (!tokens_.is_familiar(secret)) require_patience(head.peer);
  tokens_.find(secret, [this, peer = head.peer, decided](TokenBook::Found found) {
    if (!found) return decided({.refusal = refusal(peer, found.error())});
    if (*found) return decided({.caller = std::move(**found), .is_known = true});
    count_failure(peer);
    const Error error("api.unauthorized", "this token is none of ours, or counts no more", std::string(sign_in_hint));
    decided({.refusal = refusal(peer, error)});
  });
}

}  // namespace reeve::server
