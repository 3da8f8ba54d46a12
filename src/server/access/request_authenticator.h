#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/access/auth_failure_limiter.h"
#include "server/access/sign_ins.h"
#include "server/access/token_book.h"
#include "server/http/http.h"

namespace reeve::server {

// Authenticates the head of every TCP request, including upgrades: it must be addressed to this daemon (Host), not come
// from a page of another site (Origin), and carry a credential: a token, or the cookie of a signed-in browser.
class RequestAuthenticator {
 public:
  struct Rules {
    // Accepted Host names besides the address that the request came to.
    std::vector<std::string> allowed_hosts = {};
    // A proxy in front may have received the request encrypted.
    bool is_behind_proxy = false;
  };
  RequestAuthenticator(runtime::Loop& loop, Rules rules, TokenBook& tokens, SignIns& sign_ins)
      : loop_(loop), rules_(std::move(rules)), tokens_(tokens), sign_ins_(sign_ins) {}

  void admit(const Request& head, const std::function<void(Admission)>& decided);

  // For credentials outside the head: the code of a sign-in link. Throws `api.too_many_failures`.
  void require_pause_over(const Peer& peer) const;
  void count_failure(const Peer& peer) { failures_.count(peer.from, loop_.now()); }
  // As a response, with the headers that its status requires.
  Response refusal(const Peer& peer, const base::Error& error) const;

 private:
  void check_host(const Request& head) const;
  void check_origin(const Request& head) const;
  void admit_browser(const Request& head, const std::string& cookie, const std::function<void(Admission)>& decided);
  // A cookie alone only opens the page; anything else also needs the session key, which only this daemon's pages know.
  void check_page(const Request& head, const std::string& session) const;
  void admit_token(const Request& head, const std::string& authorization,
                   const std::function<void(Admission)>& decided);

  runtime::Loop& loop_;
  Rules rules_;
  TokenBook& tokens_;
  SignIns& sign_ins_;
  AuthFailureLimiter failures_;
};

// The session cookie's name contains the port, because the daemons of one machine share everything else. Over an
// encrypted connection it gets the prefix __Host-, which other sites cannot set.
std::string cookie_name(const Request& request);
std::optional<std::string> find_cookie(const Request& request);
// Whether the browser's connection is encrypted, as far as that is known.
bool is_secure(const Request& request);

}  // namespace reeve::server
