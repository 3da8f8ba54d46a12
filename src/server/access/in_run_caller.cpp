#include "server/access/in_run_caller.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "os/descent_mark.h"
#include "os/lineage.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t nonce_length = 32;

// "/…/reeve-0123…", as the keeper names the cgroups of its process trees.
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

bool is_keeper(pid_t pid) { return os::runs_program(pid, "reeve-keeper", "hold"); }

bool has_mark(pid_t pid) {
  const auto limit = os::find_lock_limit(pid);
  return limit && os::descends_from_marked(*limit);
}

bool is_mark(pid_t pid) {
  return is_keeper(pid) || is_group_of_a_run(os::cgroup_of(pid)) || has_mark(pid) ||
         os::variable_of(pid, "REEVE_RUN_ID");
}

// The guard adopts what a killed keeper leaves behind. Otherwise its only descendants are the daemon with its own
// commands, and keepers.
bool is_taken_in(const std::vector<pid_t>& lineage) {
  for (std::size_t i = 1; i < lineage.size(); ++i) {
    if (os::runs_program(lineage[i], "reeve-keeper", "guard") && lineage[i - 1] != ::getpid()) return true;
  }
  return false;
}

std::optional<InRunCaller> find_held(const runtime::Daemon& daemon, pid_t pid, const std::vector<pid_t>& lineage) {
  for (const pid_t above : lineage) {
    if (const auto run = daemon.find_held_by(above)) return InRunCaller{run->text(), pid, run};
  }
  return std::nullopt;
}

std::string name_keeper(const std::vector<os::ProcessId>& lineage) {
  const auto found = std::ranges::find_if(lineage, [](const os::ProcessId& id) { return is_keeper(id.pid); });
  return found != lineage.end() ? fmt::format("keeper-{}-{}", found->pid, found->started) : std::string();
}

std::vector<pid_t> numbers_of(const std::vector<os::ProcessId>& lineage) {
  std::vector<pid_t> numbers;
  for (const os::ProcessId& id : lineage) numbers.push_back(id.pid);
  return numbers;
}

[[noreturn]] void throw_gone() {
  throw Error(ErrorCode::api_peer_gone, "the process that sent this request has ended and can no longer be identified",
              "keep the sending process alive until the response arrives");
}

PeerProcess trace(const os::ProcessId& id) {
  constexpr int max_looks = 16;
  PeerProcess suspect{.pid = id.pid};
  for (int i = 0; i < max_looks; ++i) {
    const auto lineage = os::find_lineage(id);
    suspect.lineage = numbers_of(lineage);
    suspect.is_marked = std::ranges::any_of(suspect.lineage, is_mark) || is_taken_in(suspect.lineage);
    if (suspect.is_marked) suspect.keeper = name_keeper(lineage);
    // Marks disappear with their process: their absence is proven only if the whole ancestry still exists.
    if (suspect.is_marked || lineage.empty() || os::find_lineage(id) == lineage) return suspect;
  }
  return {.pid = id.pid};
}

std::optional<InRunCaller> judge(const runtime::Daemon& daemon, const PeerProcess& one) {
  if (auto held = find_held(daemon, one.pid, one.lineage)) return held;
  if (one.is_marked) return InRunCaller{run_named_by(one.pid), one.pid, std::nullopt, one.keeper};
  return std::nullopt;
}

bool is_there(const PeerProcess& one) { return !one.lineage.empty(); }

}  // namespace

PeerProcess trace(pid_t pid) {
  const auto id = os::identify(pid);
  return id ? trace(*id) : PeerProcess{.pid = pid};
}

std::optional<InRunCaller> find_in_run_caller(const runtime::Daemon& daemon, const Peer& peer) {
  if (peer.pid < 0) return std::nullopt;
  const PeerProcess suspect = trace({peer.pid, peer.started});
  if (!is_there(suspect)) throw_gone();
  return judge(daemon, suspect);
}

bool PortPeers::has_lost_a_suspect() const {
  if (!is_guess || is_of_another_user) return false;
  return !std::ranges::all_of(suspects, is_there) || !std::ranges::all_of(latecomers, is_there);
}

std::optional<InRunCaller> find_in_run_caller(const runtime::Daemon& daemon, const PortPeers& peers) {
  // Other users' runs belong to other daemons, so their processes cannot be inside a run of this one.
  const bool is_stranger = peers.is_guess && peers.is_of_another_user;
  for (const auto* all : {&peers.suspects, &peers.latecomers}) {
    for (const PeerProcess& one : *all) {
      auto in_run_caller = is_stranger ? find_held(daemon, one.pid, one.lineage) : judge(daemon, one);
      if (in_run_caller) return in_run_caller;
    }
  }
  // The connection closes with its last holder, so a holder that has ended since may have been the last.
  if (peers.is_gone) throw_gone();
  if (!peers.is_complete) {
    throw Error(ErrorCode::api_peer_hidden, "not every process that may have sent this request could be inspected",
                "use the daemon's unix socket");
  }
  if (is_stranger) return std::nullopt;
  // A process that has ended since it was found could have been any. A visible holder that still exists is proof; of
  // merely possible holders, each must be identified.
  const bool is_anybody_there = std::ranges::any_of(peers.suspects, is_there);
  if (!is_anybody_there || peers.has_lost_a_suspect()) throw_gone();
  return std::nullopt;
}

void report_in_run_caller(runtime::Daemon& daemon, const InRunCaller& in_run_caller, const std::string& what) {
  daemon.approvals().record_refusal({.run = in_run_caller.run, .pid = in_run_caller.pid, .action = what});
}

void deny_in_run_caller(const SharedExchange& exchange, const std::string& what) {
  const auto& in_run_caller = exchange->in_run_caller;
  if (!in_run_caller) return;
  report_in_run_caller(exchange->daemon, *in_run_caller, what);
  throw Error(ErrorCode::approval_inside_run, fmt::format("a process inside {} cannot decide", in_run_caller->run),
              "decide in a shell outside any run");
}

void refuse_from_inside(const SharedExchange& exchange, std::string_view what) {
  const auto& in_run_caller = exchange->in_run_caller;
  if (!in_run_caller) return;
  report_in_run_caller(exchange->daemon, *in_run_caller, std::string(what));
  throw Error(ErrorCode::execution_inside_run, fmt::format("a process inside {} cannot {}", in_run_caller->run, what),
              "do it in a shell outside any run");
}

void refuse_sandboxed(const SharedExchange& exchange) {
  const auto& in_run_caller = exchange->in_run_caller;
  if (!in_run_caller || os::shares_mounts(in_run_caller->pid)) return;
  throw Error(ErrorCode::api_not_from_a_sandbox,
              fmt::format("a process in the sandbox of {} cannot start runs outside it", in_run_caller->run),
              "start it without a sandbox, or as a child of the tool itself");
}

}  // namespace reeve::server
