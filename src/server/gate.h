#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/failures.h"
#include "server/http.h"
#include "server/sign_ins.h"
#include "server/token_book.h"

namespace reeve::server {

// Looks at the head of every request that came by TCP, also of those that become something else than HTTP: it must be
// meant for this daemon (Host), not be sent by a page of somebody else (Origin), and show a credential: a token, or the
// cookie of a browser that was let in.
class Gate {
 public:
  struct Rules {
    // Names that Host may have beside the address that the request came to.
    std::vector<std::string> allowed_hosts = {};
    // Who stands in front may have taken it encrypted.
    bool is_behind_proxy = false;
  };
  Gate(runtime::Loop& loop, Rules rules, TokenBook& tokens, SignIns& sign_ins)
      : loop_(loop), rules_(std::move(rules)), tokens_(tokens), sign_ins_(sign_ins) {}

  void admit(const Request& head, const std::function<void(Admission)>& decided);

  // For what is shown without a head: a code of a link. Throws `api.too_many_failures`.
  void require_patience(const Peer& peer) const;
  void count_failure(const Peer& peer) { failures_.count(peer.from, loop_.now()); }
  // As an answer, with the headers that its status asks for.
  Response refusal(const Peer& peer, const base::Error& error) const;

 private:
  void check_host(const Request& head) const;
  void check_origin(const Request& head) const;
  void admit_browser(const Request& head, const std::string& cookie, const std::function<void(Admission)>& decided);
  // A cookie alone opens the page; all else is for the pages of this daemon, which know the key of the session.
  void check_page(const Request& head, const std::string& session) const;
  void admit_token(const Request& head, const std::string& authorization,
                   const std::function<void(Admission)>& decided);

  runtime::Loop& loop_;
  Rules rules_;
  TokenBook& tokens_;
  SignIns& sign_ins_;
  Failures failures_;
};

// The cookie of a browser: two daemons of one machine share all but the port. Over an encrypted way it has a name that
// browsers let nobody else set (__Host-).
std::string cookie_name(const Request& request);
std::optional<std::string> find_cookie(const Request& request);
// Whether the browser came encrypted, as far as that can be known.
bool is_secure(const Request& request);

}  // namespace reeve::server
