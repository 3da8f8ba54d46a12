#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/id.h"
#include "model/token.h"

namespace reeve::server {

// The caller as identified by a credential. Empty on the unix socket, whose owner may do everything.
struct Caller {
  std::string name;
  std::vector<model::Scope> scopes;
  // SHA-256 in hexadecimal of the credentials: the token; for a browser the cookie, and the token with which its link
  // was created, if any. Streams, terminals and waits end when one of them expires or is revoked.
  std::string token = {};
  std::string session = {};
  // The path of the only project that it may use.
  std::optional<std::string> project = {};
};

// A process inside a managed run (APR-11).
struct InRunCaller {
  // The run it is in, as far as known: "TR-7".
  std::string run;
  pid_t pid = 0;
  // The run, if it is certain: one of this daemon's keepers is an ancestor. Claims of the process itself do not count.
  std::optional<base::RunId> held = {};
  // For a run of another daemon: the ancestor keeper, unique within this boot. Empty if there is none.
  std::string keeper = {};
};

// The peer of one connection, as inspected; cached while the connection lasts.
struct CachedPeerOrigin {
  bool is_looked_up = false;
  std::optional<InRunCaller> in_run_caller = {};
};

}  // namespace reeve::server
