#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/request/exchange.h"

// APR-11: a process inside a managed run cannot decide. Such a process is recognised by its ancestry, not by its
// claims.
namespace reeve::server {

// A process that may have sent the request, as inspected.
struct PeerProcess {
  pid_t pid = 0;
  // The process and its ancestors, nearest first; empty if it was gone.
  std::vector<pid_t> lineage;
  // Inside a run, by its cgroup, its limits, or the environment or program of an ancestor.
  bool is_marked = false;
  // As in InRunCaller.
  std::string keeper = {};
};
// Thread-safe.
PeerProcess trace(pid_t pid);

// The processes that may hold the client end of a TCP connection (os::SocketOwners).
struct PortPeers {
  std::vector<PeerProcess> suspects;
  // Processes that can only have received the connection from another one: one inside a run is proof, one outside is
  // not.
  std::vector<PeerProcess> latecomers = {};
  bool is_complete = true;
  bool is_guess = false;
  bool is_of_another_user = false;
  // The client end was closed before the inspection was complete.
  bool is_gone = false;

  // No visible process holds the connection, and a possible holder has ended since: inspect again.
  bool has_lost_a_suspect() const;
};

// Recognises a process inside a run by an ancestor keeper, its cgroup, its limits (os/descent_mark.h), a guard that
// adopted what a keeper left behind, or the environment that it or an ancestor was started with. Throws `api.peer_gone`
// for a local peer that no longer exists and so cannot be identified.
std::optional<InRunCaller> find_in_run_caller(const runtime::Daemon& daemon, const Peer& peer);
// The same for the holders of the client end of a TCP connection. Connections can be passed on, so one holder inside a
// run is enough. Throws `api.peer_gone` if it has no holder, `api.peer_hidden` if not all could be inspected. Processes
// of other users count as outside, where the token decides, unless one is inside a run of this daemon.
std::optional<InRunCaller> find_in_run_caller(const runtime::Daemon& daemon, const PortPeers& peers);

// The functions below rely on `Exchange::in_run_caller`. Call this first in everything that decides or might: reports
// the attempt and throws `approval.inside_run`. `what` names the attempt: "approve AP-3".
void deny_in_run_caller(const SharedExchange& exchange, const std::string& what);
// Call this first in everything that starts a command: throws `api.not_from_a_sandbox` for a process in the sandbox of
// any daemon's run, which would escape from it that way.
void refuse_sandboxed(const SharedExchange& exchange);
// Call this first in everything that starts a workflow: reports the attempt and throws `execution.inside_run`, because
// the process would act beyond its own run. `what`: "start a workflow".
void refuse_from_inside(const SharedExchange& exchange, std::string_view what);
// Records a refused attempt in the audit trail and sends an event.
void report_in_run_caller(runtime::Daemon& daemon, const InRunCaller& in_run_caller, const std::string& what);

}  // namespace reeve::server
