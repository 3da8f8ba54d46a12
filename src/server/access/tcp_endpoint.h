#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/access/request_authenticator.h"
#include "server/http/http.h"

namespace reeve::server {

// The TCP endpoint: closed until requested, on loopback only unless the connection is encrypted, and never without a
// credential.
class TcpEndpoint {
 public:
  struct Settings {
    std::optional<model::TlsSettings> tls = {};
    bool is_behind_proxy = false;
    std::vector<std::string> allowed_hosts = {};
  };
  TcpEndpoint(runtime::Daemon& daemon, Settings settings);

  // Binds the port. Throws `daemon.bad_address`, `daemon.not_loopback`, `daemon.port_in_use`, `daemon.no_address`,
  // `daemon.tls`.
  void listen(const std::string& address);
  // Opens the port of a running daemon. Throws like listen(), and `daemon.port_open` if another one was asked for.
  void listen_too(const std::string& address);
  // The configured port could not be opened, and the daemon continues without it.
  void note_failure(const base::Error& error) { failure_ = error; }
  const std::optional<base::Error>& failure() const noexcept { return failure_; }
  // Accepts connections from now on, also on ports that are bound later.
  void serve(HttpServer& http);
  // The listen address; binds any free loopback port first if there is none.
  const os::TcpAddress& open_for_browser();

  bool is_open() const noexcept { return address_.has_value(); }
  // Whether clients that cannot start a daemon may connect: a port was requested, or a browser is signed in.
  bool is_wanted();
  // "http://127.0.0.1:7433", as reachable from this machine; requires an open port.
  std::string url() const;
  // "http://0.0.0.0:7433 (all addresses of this machine)": the actual listen address.
  std::string bound() const;

  // These also end whatever the credential has open: streams, terminals and waits.
  void forget_token(const std::string& name);
  void renew_own_token();
  void sign_out(const std::string& cookie);

  TokenBook& tokens() noexcept { return tokens_; }
  SignIns& sign_ins() noexcept { return sign_ins_; }

 private:
  void take_port(const os::TcpAddress& address);
  void begin();
  // Runs periodically: tokens and sessions expire, and other daemons of the store may revoke tokens.
  void look_after();
  void review(const std::set<std::string>& over_tokens);

  runtime::Daemon& daemon_;
  Settings settings_;
  TokenBook tokens_;
  SignIns sign_ins_;
  RequestAuthenticator authenticator_;
  std::shared_ptr<Tls> tls_;
  os::Fd listener_;
  std::optional<os::TcpAddress> address_;
  bool was_asked_for_ = false;
  std::optional<base::Error> failure_;
  HttpServer* http_ = nullptr;
  runtime::Loop::Hold next_look_;
};

}  // namespace reeve::server
