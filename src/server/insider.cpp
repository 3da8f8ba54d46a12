#include "server/insider.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "os/lineage.h"
#include "os/tcp.h"
#include "runtime/store_task.h"

namespace reeve::server {

namespace {

using base::Error;
using base::Value;

constexpr std::size_t nonce_length = 32;

// "/…/reeve-0123…", as the keeper names the groups of its trees.
bool is_group_of_a_run(std::string_view path) {
  constexpr std::string_view prefix = "reeve-";
  const auto parts = base::split(path, '/');
  return std::ranges::any_of(parts, [&](std::string_view part) {
    if (!part.starts_with(prefix)) return false;
    part.remove_prefix(prefix.size());
    return part.size() == nonce_length && part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  });
}

std::string run_named_by(pid_t pid) {
  const auto named = os::variable_of(pid, "REEVE_RUN_ID");
  const auto id = named ? base::RunId::parse(*named) : std::nullopt;
  return id ? id->text() : "a run";
}

std::optional<Insider> find_in_lineage(const runtime::Daemon& daemon, pid_t pid,
                                       const std::vector<os::ProcessId>& lineage) {
  for (const os::ProcessId& id : lineage) {
    if (const auto run = daemon.find_held_by(id.pid)) return Insider{run->text(), pid};
  }
  for (const os::ProcessId& id : lineage) {
    const bool is_inside = os::runs_program(id.pid, "reeve-keeper", "hold") ||
                           is_group_of_a_run(os::cgroup_of(id.pid)) || os::variable_of(id.pid, "REEVE_RUN_ID");
    if (is_inside) return Insider{run_named_by(pid), pid};
  }
  return std::nullopt;
}

[[noreturn]] void throw_gone() {
  throw Error("api.peer_gone", "the process that asked for this has ended: who it was cannot be known any more",
              "let the command that decides wait for its answer");
}

// Of those at the other end of a port, if that is on this machine.
std::vector<pid_t> holders_of(const Peer& peer) {
  // Whoever reaches a loopback address is here, whatever address it took for its own end.
  const bool is_here = peer.from.is_loopback() || peer.to.is_loopback() || os::is_own_address(peer.from);
  return is_here ? os::find_holders(peer.from, peer.to) : std::vector<pid_t>();
}

// Who has an end of a connection may have got it from somebody else: one of them inside is enough.
std::optional<Insider> find_at_port(const runtime::Daemon& daemon, const Peer& peer) {
  for (const pid_t pid : holders_of(peer)) {
    if (pid == 0) throw_gone();
    const auto id = os::identify(pid);
    if (!id) continue;
    if (auto insider = find_in_lineage(daemon, pid, os::find_lineage(*id))) return insider;
  }
  return std::nullopt;
}

// Of those that hold the connection, those who may be in a sandbox.
bool may_be_sandboxed(const Peer& peer) {
  if (peer.entrance == Entrance::tcp) {
    return std::ranges::any_of(holders_of(peer), [](pid_t pid) { return !os::shares_mounts(pid); });
  }
  // Who has the number afterwards had it all along. Most clients are known to be outside by this alone.
  return peer.pid >= 0 &&
         !(os::shares_mounts(peer.pid) && os::identify(peer.pid) == os::ProcessId{peer.pid, peer.started});
}

}  // namespace

std::optional<Insider> find_insider(const runtime::Daemon& daemon, const Peer& peer) {
  if (peer.entrance == Entrance::tcp) return find_at_port(daemon, peer);
  if (peer.pid < 0) return std::nullopt;
  const auto lineage = os::find_lineage({peer.pid, peer.started});
  if (lineage.empty()) throw_gone();
  return find_in_lineage(daemon, peer.pid, lineage);
}

void report_insider(runtime::Daemon& daemon, const Insider& insider, const std::string& what) {
  Value data = Value::object();
  data.set("tool_run_id", Value::string(insider.run));
  data.set("pid", Value::integer(insider.pid));
  data.set("action", Value::string(base::truncate_utf8(what, base::limits::name_bytes)));
  data.set("reason", Value::string("a process inside a run cannot decide"));
  runtime::ask_store(
      daemon.ledger(), daemon.loop(),
      [data, actor = insider.run](ledger::Transaction& transaction) {
        transaction.tell(model::EventKind::policy_denied, data);
        transaction.record(model::AuditKind::decision_refused, actor, data);
      },
      [](const std::expected<void, Error>&) {
        // Refused it is in any case.
      });
}

void refuse_insider(const SharedExchange& exchange, const std::string& what) {
  const auto insider = find_insider(exchange->daemon, exchange->request.peer);
  if (!insider) return;
  report_insider(exchange->daemon, *insider, what);
  throw Error("approval.inside_run", fmt::format("a process inside {} cannot decide", insider->run),
              "decide in a shell of your own, outside any run");
}

void refuse_from_inside(const SharedExchange& exchange, std::string_view what) {
  const auto insider = find_insider(exchange->daemon, exchange->request.peer);
  if (!insider) return;
  report_insider(exchange->daemon, *insider, std::string(what));
  throw Error("execution.inside_run", fmt::format("a process inside {} cannot {}", insider->run, what),
              "do it in a shell of your own, outside any run");
}

void refuse_other_run(const SharedExchange& exchange, base::RunId run, const std::string& what) {
  const auto insider = find_insider(exchange->daemon, exchange->request.peer);
  if (!insider || insider->run == run.text()) return;
  report_insider(exchange->daemon, *insider, what);
  throw Error("run.inside_run", fmt::format("a process inside {} cannot {}", insider->run, what),
              "do it in a shell of your own, outside any run");
}

void refuse_sandboxed(const SharedExchange& exchange) {
  const Peer& peer = exchange->request.peer;
  if (!may_be_sandboxed(peer)) return;
  // Containers have mounts of their own as well, and are no sandbox of a run.
  const auto insider = find_insider(exchange->daemon, peer);
  if (!insider) return;
  throw Error("api.not_from_a_sandbox",
              fmt::format("a process in the sandbox of {} starts nothing outside", insider->run),
              "start it without a sandbox, or as a child of the tool itself");
}

}  // namespace reeve::server
