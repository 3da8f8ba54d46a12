#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/api.h"

// APR-11: a process inside a managed run cannot decide. Known by descent, not by what it says of itself.
namespace reeve::server {

struct Insider {
  // The run it is in, as far as that is known: "TR-7".
  std::string run;
  pid_t pid = 0;
};
// By a keeper above it, by its control group, or by the variables it or somebody above it was started with. Throws
// `api.peer_gone` for a peer of this machine that is not there any more, of whom nothing can be known. At a port those
// processes are looked at that hold the other end; of another machine's the credential counts.
std::optional<Insider> find_insider(const runtime::Daemon& daemon, const Peer& peer);

// Called first by everything that decides or could: throws `approval.inside_run`, after it has been reported. `what`
// says what was tried: "approve AP-3".
void refuse_insider(const SharedExchange& exchange, const std::string& what);
// Called first by what starts a command: throws `api.not_from_a_sandbox` for a process in the sandbox of a run, also of
// another daemon's, which would leave it in this way.
void refuse_sandboxed(const SharedExchange& exchange);
// Called first by what starts a workflow: throws `execution.inside_run`, after it has been reported. A process inside a
// run would reach beyond the run that it is in. `what`: "start a workflow".
void refuse_from_inside(const SharedExchange& exchange, std::string_view what);
// Called first by what acts on a run: throws `run.inside_run` for a process inside another one, after it has been
// reported. `what`: "cancel TR-7".
void refuse_other_run(const SharedExchange& exchange, base::RunId run, const std::string& what);
// An attempt that has been refused, in the audit trail and for all who listen.
void report_insider(runtime::Daemon& daemon, const Insider& insider, const std::string& what);

}  // namespace reeve::server
