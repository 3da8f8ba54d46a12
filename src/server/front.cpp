#include "server/front.h"

#include <fmt/format.h>

#include "base/text.h"
#include "server/tls.h"

namespace reeve::server {

using base::Error;

Front::Front(runtime::Daemon& daemon, Settings settings)
    : daemon_(daemon),
      settings_(std::move(settings)),
      tokens_(daemon),
      gate_(daemon.loop(), {settings_.allowed_hosts, settings_.is_behind_proxy}, tokens_, sign_ins_) {}

void Front::listen(const std::string& address) {
  const auto parsed = os::parse_tcp_address(address);
  if (!parsed) {
    throw Error("daemon.bad_address", fmt::format("{} is no address to listen at", base::quoted(address)),
                "127.0.0.1:7433, [::1]:7433, localhost:7433; port 0 for any");
  }
  was_asked_for_ = true;
  take_port(*parsed);
}

void Front::take_port(const os::TcpAddress& address) {
  const bool is_protected = settings_.tls || settings_.is_behind_proxy;
  if (!address.is_loopback() && !is_protected) {
    throw Error("daemon.not_loopback",
                fmt::format("{} can be reached from other machines, and what is said there could be read by others",
                            address.text()),
                "listen at 127.0.0.1, or set server.tls in the config, or say --behind-proxy if a proxy encrypts");
  }
  if (settings_.tls) tls_ = load_tls(settings_.tls->certificate, settings_.tls->key);
  listener_ = os::listen_at(address);
  address_ = os::local_address(listener_.get());
  tokens_.open_own(daemon_.options().folder.http_token());
  if (http_ != nullptr) begin();
}

void Front::serve(HttpServer& http) {
  http_ = &http;
  if (listener_) begin();
}

void Front::begin() {
  TcpDoor door{.admit = [this](const Request& head,
                               const std::function<void(Admission)>& decided) { gate_.admit(head, decided); },
               .tls = tls_};
  http_->accept(std::move(listener_), std::move(door));
}

const os::TcpAddress& Front::open_for_browser() {
  if (!address_) take_port(*os::parse_tcp_address("127.0.0.1:0"));
  return *address_;
}

bool Front::is_wanted() { return was_asked_for_ || sign_ins_.is_used(daemon_.loop().now()); }

std::string Front::url() const {
  std::string where = address_->text();
  // Where all addresses are listened at, this machine reaches it by its own.
  if (address_->host() == "0.0.0.0") where = fmt::format("127.0.0.1:{}", address_->port);
  if (address_->host() == "::") where = fmt::format("[::1]:{}", address_->port);
  return fmt::format("{}://{}", tls_ ? "https" : "http", where);
}

}  // namespace reeve::server
