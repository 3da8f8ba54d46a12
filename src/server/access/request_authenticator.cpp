#include "server/access/request_authenticator.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "server/http/http_upgrade.h"
#include "wire/problem.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view sign_in_hint =
    "send a token (Authorization: Bearer …), created with: reeve token create NAME; sign a browser in with: reeve web";

std::size_t count_headers(const Request& request, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count_if(
      request.headers, [&](const auto& header) { return base::to_ascii_lower(header.first) == name; }));
}

bool changes_something(const Request& request) { return request.method != "GET" && request.method != "HEAD"; }
bool announces_body(const Request& request) {
  return request.header("content-length").value_or("0") != "0" || request.header("transfer-encoding");
}

// Splits "name:port"; the port may be empty.
std::pair<std::string_view, std::string_view> split_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::size_t bracket = text.rfind(']');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  if (!has_port) return {text, {}};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// Open to all: only without a body, so that it costs nothing.
bool is_open(const Request& head) {
  return head.method == "GET" && (head.path == "/healthz" || head.path == "/sign-in") && !announces_body(head);
}

void check_single_headers(const Request& head) {
  constexpr auto single =
      std::to_array<std::string_view>({"host", "origin", "authorization", "cookie", "content-type"});
  for (const std::string_view name : single) {
    if (count_headers(head, name) > 1) {
      throw Error(ErrorCode::api_bad_request, fmt::format("duplicate header `{}`", name), "send it once");
    }
  }
}

Error forged(std::string message) {
  return {ErrorCode::api_forged, std::move(message),
          "pages of this daemon send their sign-in key as Reeve-Request (docs/API.md), and Origin with changes"};
}

}  // namespace

Response RequestAuthenticator::refusal(const Peer& peer, const Error& error) const {
  Response response{.status = wire::http_status(error),
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
  // A proxy's header can only make the cookie stricter.
  return request.peer.is_encrypted || request.header("x-forwarded-proto") == "https";
}

void RequestAuthenticator::check_host(const Request& head) const {
  const auto host = head.header("host");
  if (!host || host->empty())
    throw Error(ErrorCode::api_bad_request, "the Host header is missing", "send HTTP/1.1 with a Host header");
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
  throw Error(ErrorCode::api_wrong_host, fmt::format("{} is not a host name of this daemon", base::quoted(*host)),
              "if it should be, add it to server.allowed_hosts in the config");
}

// Only browsers send Origin, and always that of the requesting page.
void RequestAuthenticator::check_origin(const Request& head) const {
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
  throw Error(ErrorCode::api_wrong_origin,
              fmt::format("requests from pages of {} are not allowed", base::quoted(origin.value_or("another site"))),
              "send it from a page of this daemon, or use a token outside the browser");
}

void RequestAuthenticator::require_pause_over(const Peer& peer) const {
  if (const auto pause = failures_.find_pause(peer.from, loop_.now())) {
    throw Error(ErrorCode::api_too_many_failures,
                fmt::format("too many wrong credentials from {}; further ones are rejected for {} s", peer.from.host(),
                            pause->count()),
                "wait, then send a valid one");
  }
}

void RequestAuthenticator::admit(const Request& head, const std::function<void(Admission)>& decided) {
  try {
    check_single_headers(head);
    check_host(head);
    check_origin(head);
    if (const auto authorization = head.header("authorization")) {
      return admit_token(head, *authorization, decided);
    }
    if (is_open(head)) return decided({});
    if (const auto cookie = find_cookie(head)) return admit_browser(head, *cookie, decided);
    throw Error(ErrorCode::api_unauthorized, "no token was sent", std::string(sign_in_hint));
  } catch (const Error& error) {
    decided({.refusal = refusal(head.peer, error)});
  }
}

void RequestAuthenticator::check_page(const Request& head, const std::string& session) const {
  const bool is_upgrade = head.header("upgrade").has_value();
  if ((changes_something(head) || is_upgrade) && !head.header("origin")) throw forged("the Origin header is missing");
  // Browsers also send the cookie to other ports of this host; the key stays with the page.
  const bool is_page = !changes_something(head) && !is_upgrade && head.path == "/";
  if (is_page) return;
  const auto key = is_upgrade ? find_offered_key(head) : head.header("reeve-request");
  if (!key || !sign_ins_.is_key(session, *key)) throw forged("the sign-in key is missing or wrong");
}

void RequestAuthenticator::admit_browser(const Request& head, const std::string& cookie,
                                         const std::function<void(Admission)>& decided) {
  const Error over(ErrorCode::api_unauthorized, "this browser is no longer signed in", "sign in again: reeve web");
  auto caller = sign_ins_.find(cookie, loop_.now());
  if (!caller) throw over;
  check_page(head, caller->session);
  if (caller->token.empty()) return decided({.caller = std::move(*caller), .is_known = true});
  // The session lasts only as long as the token that created its link.
  const std::string token = caller->token;
  tokens_.find_hashed(
      token, [this, peer = head.peer, decided, over, caller = std::move(*caller)](const TokenBook::Found& found) {
        if (!found) return decided({.refusal = refusal(peer, found.error())});
        if (*found) return decided({.caller = caller, .is_known = true});
        sign_ins_.forget_token(caller.token);
        decided({.refusal = refusal(peer, over)});
      });
}

void RequestAuthenticator::admit_token(const Request& head, const std::string& authorization,
                                       const std::function<void(Admission)>& decided) {
  constexpr std::string_view scheme = "bearer ";
  const bool is_bearer = base::to_ascii_lower(std::string_view(authorization).substr(0, scheme.size())) == scheme;
  const std::string secret = is_bearer ? std::string(base::trim(authorization.substr(scheme.size()))) : std::string();
  // A recently valid token is not blocked because of other clients at the same address.
  if (!tokens_.is_familiar(secret)) require_pause_over(head.peer);
  tokens_.find(secret, [this, peer = head.peer, decided](TokenBook::Found found) {
    if (!found) return decided({.refusal = refusal(peer, found.error())});
    if (*found) return decided({.caller = std::move(**found), .is_known = true});
    count_failure(peer);
    const Error error(ErrorCode::api_unauthorized, "token not recognised, expired or revoked",
                      std::string(sign_in_hint));
    decided({.refusal = refusal(peer, error)});
  });
}

}  // namespace reeve::server
