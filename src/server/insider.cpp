#include "server/insider.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "os/descent_mark.h"
#include "os/lineage.h"
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

bool is_keeper(pid_t pid) { return os::runs_program(pid, "reeve-keeper", "hold"); }

bool has_mark(pid_t pid) {
  const auto limit = os::find_lock_limit(pid);
  return limit && os::descends_from_marked(*limit);
}

bool is_mark(pid_t pid) {
  return is_keeper(pid) || is_group_of_a_run(os::cgroup_of(pid)) || has_mark(pid) ||
         os::variable_of(pid, "REEVE_RUN_ID");
}

// The guard takes in what a killed keeper leaves behind. Beneath it there is nothing else but the daemon with its own
// commands, and keepers.
bool is_taken_in(const std::vector<pid_t>& lineage) {
  for (std::size_t i = 1; i < lineage.size(); ++i) {
    if (os::runs_program(lineage[i], "reeve-keeper", "guard") && lineage[i - 1] != ::getpid()) return true;
  }
  return false;
}

std::optional<Insider> find_held(const runtime::Daemon& daemon, pid_t pid, const std::vector<pid_t>& lineage) {
  for (const pid_t above : lineage) {
    if (const auto run = daemon.find_held_by(above)) return Insider{run->text(), pid, run};
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
  throw Error("api.peer_gone", "the process that asked for this has ended: who it was cannot be known any more",
              "let the command that decides wait for its answer");
}

Suspect trace(const os::ProcessId& id) {
  constexpr int most_looks = 16;
  Suspect suspect{.pid = id.pid};
  for (int i = 0; i < most_looks; ++i) {
    const auto lineage = os::find_lineage(id);
    suspect.lineage = numbers_of(lineage);
    suspect.is_marked = std::ranges::any_of(suspect.lineage, is_mark) || is_taken_in(suspect.lineage);
    if (suspect.is_marked) suspect.keeper = name_keeper(lineage);
    // Marks go with their process: that there is none holds only if all of them are still there.
    if (suspect.is_marked || lineage.empty() || os::find_lineage(id) == lineage) return suspect;
  }
  return {.pid = id.pid};
}

std::optional<Insider> judge(const runtime::Daemon& daemon, const Suspect& one) {
  if (auto held = find_held(daemon, one.pid, one.lineage)) return held;
  if (one.is_marked) return Insider{run_named_by(one.pid), one.pid, std::nullopt, one.keeper};
  return std::nullopt;
}

bool is_there(const Suspect& one) { return !one.lineage.empty(); }

}  // namespace

Suspect trace(pid_t pid) {
  const auto id = os::identify(pid);
  return id ? trace(*id) : Suspect{.pid = pid};
}

std::optional<Insider> find_insider(const runtime::Daemon& daemon, const Peer& peer) {
  if (peer.pid < 0) return std::nullopt;
  const Suspect suspect = trace({peer.pid, peer.started});
  if (!is_there(suspect)) throw_gone();
  return judge(daemon, suspect);
}

bool PortPeers::has_lost_a_suspect() const {
  if (!is_guess || is_of_another_user) return false;
  return !std::ranges::all_of(suspects, is_there) || !std::ranges::all_of(latecomers, is_there);
}

std::optional<Insider> find_insider(const runtime::Daemon& daemon, const PortPeers& peers) {
  // Other users have runs of their own, in the hands of other daemons: none of them has anything to hide here.
  const bool is_stranger = peers.is_guess && peers.is_of_another_user;
  for (const auto* all : {&peers.suspects, &peers.latecomers}) {
    for (const Suspect& one : *all) {
      auto insider = is_stranger ? find_held(daemon, one.pid, one.lineage) : judge(daemon, one);
      if (insider) return insider;
    }
  }
  // It is closed as soon as nobody has it: whoever has ended since may have been its last holder.
  if (peers.is_gone) throw_gone();
  if (!peers.is_complete) {
    throw Error("api.peer_hidden", "not all processes that may have sent this could be looked at",
                "ask through the daemon's unix socket");
  }
  if (is_stranger) return std::nullopt;
  // Those that have gone since they were found may have been anybody. One who was seen and is still there has it; of
  // those who only may have it each must be known.
  const bool is_anybody_there = std::ranges::any_of(peers.suspects, is_there);
  if (!is_anybody_there || peers.has_lost_a_suspect()) throw_gone();
  return std::nullopt;
}

void report_insider(runtime::Daemon& daemon, const Insider& insider, const std::string& what) {
  Value data = Value::object();
  data.set("tool_run_id", Value::string(insider.run));
  data.set("pid", Value::integer(insider.pid));
  data.set("action", Value::string(base::truncate_utf8(what, base::limits::name_bytes)));
  data.set("reason", Value::string("a process inside a run cannot decide"));
  // Whatever becomes of the request, this is written down.
  const ledger::RequestTerms::Scope own_scope(nullptr);
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
  const auto& insider = exchange->insider;
  if (!insider) return;
  report_insider(exchange->daemon, *insider, what);
  throw Error("approval.inside_run", fmt::format("a process inside {} cannot decide", insider->run),
              "decide in a shell of your own, outside any run");
}

void refuse_from_inside(const SharedExchange& exchange, std::string_view what) {
  const auto& insider = exchange->insider;
  if (!insider) return;
  report_insider(exchange->daemon, *insider, std::string(what));
  throw Error("execution.inside_run", fmt::format("a process inside {} cannot {}", insider->run, what),
              "do it in a shell of your own, outside any run");
}

void refuse_sandboxed(const SharedExchange& exchange) {
  const auto& insider = exchange->insider;
  if (!insider || os::shares_mounts(insider->pid)) return;
  throw Error("api.not_from_a_sandbox",
              fmt::format("a process in the sandbox of {} starts nothing outside", insider->run),
              "start it without a sandbox, or as a child of the tool itself");
}

}  // namespace reeve::server
