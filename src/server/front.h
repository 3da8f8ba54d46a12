#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/gate.h"
#include "server/http.h"

namespace reeve::server {

// The door to TCP: closed until somebody asks for it, on loopback alone unless what is said there is encrypted, and
// never without a credential.
class Front {
 public:
  struct Settings {
    std::optional<model::TlsSettings> tls = {};
    bool is_behind_proxy = false;
    std::vector<std::string> allowed_hosts = {};
  };
  Front(runtime::Daemon& daemon, Settings settings);

  // Takes the port. Throws `daemon.bad_address`, `daemon.not_loopback`, `daemon.port_in_use`, `daemon.no_address`,
  // `daemon.tls`.
  void listen(const std::string& address);
  // Connections are answered from now on, also of ports that are taken later.
  void serve(HttpServer& http);
  // Where it listens; any loopback port is taken when it does not yet.
  const os::TcpAddress& open_for_browser();

  bool is_open() const noexcept { return address_.has_value(); }
  // Somebody may come who could not start a daemon: a port that was asked for, a browser that is in.
  bool is_wanted();
  // "http://127.0.0.1:7433", by which this machine reaches it; of one that is open.
  std::string url() const;
  // "http://0.0.0.0:7433 (all addresses of this machine)": where it really listens.
  std::string bound() const;

  // What these let in ends with them: also what is open already, streams, terminals and waits.
  void forget_token(const std::string& name);
  void renew_own_token();
  void sign_out(const std::string& cookie);

  TokenBook& tokens() noexcept { return tokens_; }
  SignIns& sign_ins() noexcept { return sign_ins_; }
  Gate& gate() noexcept { return gate_; }

 private:
  void take_port(const os::TcpAddress& address);
  void begin();
  // Now and then: tokens and sessions end with time, and tokens by the word of other daemons of the store.
  void look_after();
  void review(const std::set<std::string>& over_tokens);

  runtime::Daemon& daemon_;
  Settings settings_;
  TokenBook tokens_;
  SignIns sign_ins_;
  Gate gate_;
  std::shared_ptr<Tls> tls_;
  os::Fd listener_;
  std::optional<os::TcpAddress> address_;
  bool was_asked_for_ = false;
  HttpServer* http_ = nullptr;
  runtime::Loop::Hold next_look_;
};

}  // namespace reeve::server
