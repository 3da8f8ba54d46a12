#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api.h"

// APR-11: a process inside a managed run cannot decide. Known by descent, not by what it says of itself.
namespace reeve::server {

// One that may have asked, as it was when it was looked at.
struct Suspect {
  pid_t pid = 0;
  // It and those above it, nearest first; empty when it was gone.
  std::vector<pid_t> lineage;
  // By its control group, its limits, or by the variables or the program of one of those above it.
  bool is_marked = false;
  // As in Insider.
  std::string keeper = {};
};
// On any thread.
Suspect trace(pid_t pid);

// Who may hold the other end of a port's connection (os::Holders).
struct PortPeers {
  std::vector<Suspect> suspects;
  // Those that can have it only from somebody else: inside a run they are found, outside they prove nothing.
  std::vector<Suspect> latecomers = {};
  bool is_complete = true;
  bool is_guess = false;
  bool is_of_another_user = false;
  // The connection was closed at that end before all of this was known.
  bool is_gone = false;

  // Nobody was seen to hold it, and one who may has ended since: worth another look.
  bool has_lost_a_suspect() const;
};

// By a keeper above it, by its control group, by its limits (os/descent_mark.h), by a guard that has taken in what a
// keeper left behind, or by the variables it or somebody above it was started with. Throws `api.peer_gone` for a peer
// of this machine that is not there any more, of whom nothing can be known.
std::optional<Insider> find_insider(const runtime::Daemon& daemon, const Peer& peer);
// The same of those who hold the other end of a port's connection. Who has one may have got it from somebody else: one
// of them inside is enough. Throws `api.peer_gone` where nobody has it, `api.peer_hidden` where not all could be seen.
// What belongs to another user is outside unless a process inside a run of this daemon may hold it: the token counts.
std::optional<Insider> find_insider(const runtime::Daemon& daemon, const PortPeers& peers);

// What was found of who asks (`Exchange::insider`) decides what follows.
// Called first by everything that decides or could: throws `approval.inside_run`, after it has been reported. `what`
// says what was tried: "approve AP-3".
void refuse_insider(const SharedExchange& exchange, const std::string& what);
// Called first by what starts a command: throws `api.not_from_a_sandbox` for a process in the sandbox of a run, also of
// another daemon's, which would leave it in this way.
void refuse_sandboxed(const SharedExchange& exchange);
// Called first by what starts a workflow: throws `execution.inside_run`, after it has been reported. A process inside a
// run would reach beyond the run that it is in. `what`: "start a workflow".
void refuse_from_inside(const SharedExchange& exchange, std::string_view what);
// An attempt that has been refused, in the audit trail and for all who listen.
void report_insider(runtime::Daemon& daemon, const Insider& insider, const std::string& what);

}  // namespace reeve::server
