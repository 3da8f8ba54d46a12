#include "server/access/tcp_endpoint.h"

#include <fmt/format.h>

#include "base/text.h"
#include "server/http/tls.h"

namespace reeve::server {

using base::Error;
using base::ErrorCode;

namespace {

constexpr base::Milliseconds look_pause = std::chrono::seconds(1);

}  // namespace

TcpEndpoint::TcpEndpoint(runtime::Daemon& daemon, Settings settings)
    : daemon_(daemon),
      settings_(std::move(settings)),
      tokens_(daemon),
      authenticator_(daemon.loop(), {settings_.allowed_hosts, settings_.is_behind_proxy}, tokens_, sign_ins_) {}

void TcpEndpoint::listen(const std::string& address) {
  const auto parsed = os::parse_tcp_address(address);
  if (!parsed) {
    throw Error(ErrorCode::daemon_bad_address, fmt::format("{} is not a valid listen address", base::quoted(address)),
                "use 127.0.0.1:7433, [::1]:7433 or localhost:7433; port 0 picks a free one");
  }
  take_port(*parsed);
  was_asked_for_ = true;
}

void TcpEndpoint::listen_too(const std::string& address) {
  if (was_asked_for_ && address_) {
    const auto wanted = os::parse_tcp_address(address);
    if (wanted && wanted->text() == address_->text()) return;
    throw Error(ErrorCode::daemon_port_open, fmt::format("the daemon already listens at {}", bound()),
                "stop it with `reeve stop` first, or use that port");
  }
  listen(address);
  failure_.reset();
}

void TcpEndpoint::take_port(const os::TcpAddress& address) {
  const bool is_protected = settings_.tls || settings_.is_behind_proxy;
  if (!address.is_loopback() && !is_protected) {
    throw Error(
        ErrorCode::daemon_not_loopback,
        fmt::format("{} is reachable from other machines, and its traffic would not be encrypted", address.text()),
        "listen on 127.0.0.1, set server.tls in the config, or use --behind-proxy if a proxy encrypts");
  }
  // Nothing changes if one of these fails.
  auto tls = settings_.tls ? load_tls(settings_.tls->certificate, settings_.tls->key) : decltype(tls_)();
  os::Fd listener = os::listen_at(address);
  tokens_.open_own(daemon_.options().folder.http_token());
  address_ = os::local_address(listener.get());
  tls_ = std::move(tls);
  listener_ = std::move(listener);
  if (http_ != nullptr) begin();
}

void TcpEndpoint::serve(HttpServer& http) {
  http_ = &http;
  if (listener_) begin();
}

void TcpEndpoint::begin() {
  TcpEntrance door{
      .admit = [this](const Request& head,
                      const std::function<void(Admission)>& decided) { authenticator_.admit(head, decided); },
      .tls = tls_};
  http_->accept(std::move(listener_), std::move(door));
  look_after();
}

void TcpEndpoint::look_after() {
  next_look_ = daemon_.loop().at(daemon_.loop().now() + look_pause, [this] {
    std::set<std::string> tokens;
    http_->review([&](const Caller& caller) -> std::optional<std::string> {
      if (!caller.token.empty()) tokens.insert(caller.token);
      return std::nullopt;
    });
    tokens_.find_over(std::move(tokens), [this](const TokenBook::Over& over) {
      // If the store does not answer, ask again later.
      const std::set<std::string> ended = over.value_or(std::set<std::string>());
      for (const std::string& token : ended) {
        tokens_.forget_hashed(token);
        sign_ins_.forget_token(token);
      }
      review(ended);
      look_after();
    });
  });
}

void TcpEndpoint::review(const std::set<std::string>& over_tokens) {
  if (http_ == nullptr) return;
  http_->review([&, now = daemon_.loop().now()](const Caller& caller) -> std::optional<std::string> {
    if (!caller.session.empty() && !sign_ins_.is_open(caller.session, now)) return "this browser session has ended";
    if (over_tokens.contains(caller.token)) return "the token was revoked or has expired";
    return std::nullopt;
  });
}

void TcpEndpoint::forget_token(const std::string& name) {
  tokens_.forget(name);
  sign_ins_.forget(name);
  if (http_ == nullptr) return;
  http_->review([&](const Caller& caller) -> std::optional<std::string> {
    const bool is_by_it = !caller.token.empty() && caller.name == name;
    return is_by_it ? std::optional<std::string>("the token was revoked") : std::nullopt;
  });
}

void TcpEndpoint::renew_own_token() {
  const std::string before = tokens_.own_hash();
  tokens_.renew_own(daemon_.options().folder.http_token());
  if (before.empty()) return;
  sign_ins_.forget_token(before);
  review({before});
}

void TcpEndpoint::sign_out(const std::string& cookie) {
  sign_ins_.close(cookie);
  review({});
}

const os::TcpAddress& TcpEndpoint::open_for_browser() {
  if (!address_) take_port(*os::parse_tcp_address("127.0.0.1:0"));
  return *address_;
}

bool TcpEndpoint::is_wanted() { return was_asked_for_ || sign_ins_.is_used(daemon_.loop().now()); }

std::string TcpEndpoint::bound() const {
  const std::string host = address_->host();
  const std::string_view note = host == "0.0.0.0" ? " (all IPv4 addresses of this machine)"
                                : host == "::"    ? " (all IPv6 addresses of this machine)"
                                                  : "";
  return fmt::format("{}://{}{}", tls_ ? "https" : "http", address_->text(), note);
}

std::string TcpEndpoint::url() const {
  std::string where = address_->text();
  // If it listens on all addresses, use loopback from this machine.
  if (address_->host() == "0.0.0.0") where = fmt::format("127.0.0.1:{}", address_->port);
  if (address_->host() == "::") where = fmt::format("[::1]:{}", address_->port);
  return fmt::format("{}://{}", tls_ ? "https" : "http", where);
}

}  // namespace reeve::server
