#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/id.h"
#include "model/token.h"

namespace reeve::server {

// Who asks, as a credential says. Empty on the unix socket, whose owner the kernel names and who may do everything.
struct Caller {
  std::string name;
  std::vector<model::Scope> scopes;
  // What it was let in by, as SHA-256 in hexadecimal: its token; of a browser its cookie, and the token that its link
  // was asked for with, if there was one. What goes on (a stream, a terminal, a wait) ends when one of them counts no
  // more.
  std::string token = {};
  std::string session = {};
};

// A process inside a managed run (APR-11).
struct Insider {
  // The run it is in, as far as that is known: "TR-7".
  std::string run;
  pid_t pid = 0;
  // The same where it is beyond doubt: a keeper in this daemon's hands is above it. What it says of itself is none.
  std::optional<base::RunId> held = {};
  // Of a run in the hands of another daemon: the keeper above it, told from all others of this boot. Empty without one.
  std::string keeper = {};
};

// What was found out about the other end of one connection; kept as long as that lasts.
struct Acquaintance {
  bool is_looked_up = false;
  std::optional<Insider> insider = {};
};

}  // namespace reeve::server
