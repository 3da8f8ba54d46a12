#include "server/access/in_run_policy.h"

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "os/socket_owners.h"
#include "server/access/in_run_caller.h"

namespace reeve::server {

namespace {

using base::Error;
using base::ErrorCode;

// A connection to a loopback address is local, whatever source address the client chose.
bool is_of_this_machine(const Peer& peer) {
  return peer.from.is_loopback() || peer.to.is_loopback() || os::is_own_address(peer.from);
}

// Its own run, or one that it started.
bool is_own(const InRunCaller& in_run_caller, const model::Run& run) {
  if (run.tool_run_id == in_run_caller.held) return true;
  const auto names = [&](const char* key, const std::string& parent) {
    const auto member = run.metadata.find(key);
    return member != run.metadata.end() && !parent.empty() && member->second == parent;
  };
  return in_run_caller.held ? names(parent_run_key, in_run_caller.held->text())
                            : names(parent_keeper_key, in_run_caller.keeper);
}

Error not_its_own(const InRunCaller& in_run_caller) {
  return {ErrorCode::api_inside_run, fmt::format("a process inside {} can read only its own run", in_run_caller.run),
          in_run_caller.held
              ? fmt::format("`reeve show {0}`, `reeve logs {0}` and `reeve approvals wait` work here; read the rest "
                            "in a shell outside any run",
                            in_run_caller.held->text())
              : std::string("read it in a shell outside any run")};
}

bool is_look(const Exchange& exchange) { return exchange.request.method == "GET" || exchange.request.method == "HEAD"; }

void refuse(const SharedExchange& exchange) { exchange->refuse(not_its_own(*exchange->in_run_caller)); }

// An attempt to act on another run is reported.
void refuse_act(const SharedExchange& exchange) {
  const InRunCaller& in_run_caller = *exchange->in_run_caller;
  // "/api/runs/TR-7/cancel": "cancel TR-7".
  const std::string_view path = exchange->request.path;
  const std::string what = fmt::format("{} {}", path.substr(path.rfind('/') + 1), exchange->parts.at(0));
  report_in_run_caller(exchange->daemon, in_run_caller, what);
  exchange->refuse(Error(ErrorCode::run_inside_run,
                         fmt::format("a process inside {} cannot {}", in_run_caller.run, base::visible(what)),
                         "do it in a shell outside any run"));
}

void refuse_other(const SharedExchange& exchange) {
  if (is_look(*exchange)) return refuse(exchange);
  refuse_act(exchange);
}

// Continues with `go` if the run that was found belongs to the caller.
auto require_own(const SharedExchange& exchange, std::function<void()> go) {
  return [exchange, go = std::move(go)](const std::expected<std::optional<model::Run>, Error>& run) {
    if (!run) return exchange->refuse(run.error());
    if (!*run || !is_own(*exchange->in_run_caller, **run)) return refuse_other(exchange);
    exchange->go_on(go);
  };
}

void require_own_run(const SharedExchange& exchange, const std::optional<base::RunId>& run, std::function<void()> go) {
  if (run && run == exchange->in_run_caller->held) return go();
  if (!run) return refuse_other(exchange);
  exchange->daemon.queries().find_run(*run, require_own(exchange, std::move(go)));
}

void require_own_approval(const SharedExchange& exchange, std::function<void()> go) {
  const auto id = base::ApprovalId::parse(exchange->parts.at(0));
  if (!id) return refuse_other(exchange);
  exchange->daemon.queries().find_run_of_approval(*id, require_own(exchange, std::move(go)));
}

// TOOL-7: stricter than for runs. What a run that it started does is not its own.
void require_calls_of_own_run(const SharedExchange& exchange, const std::optional<base::RunId>& run,
                              const std::function<void()>& go) {
  if (run && run == exchange->in_run_caller->held) return go();
  refuse_other(exchange);
}

void require_own_call(const SharedExchange& exchange, std::function<void()> go) {
  const auto id = base::CallId::parse(exchange->parts.at(0));
  if (!id) return refuse_other(exchange);
  exchange->daemon.queries().find_run_of_call(
      *id, [exchange, go = std::move(go)](const std::expected<std::optional<base::RunId>, Error>& run) {
        if (!run) return exchange->refuse(run.error());
        exchange->go_on([&] { require_calls_of_own_run(exchange, *run, go); });
      });
}

bool is_own_execution(const Exchange& exchange) {
  const auto own = exchange.in_run_caller->held;
  const runtime::LiveRun* live = own ? exchange.daemon.supervisor().find(*own) : nullptr;
  const auto wanted = base::ExecutionId::parse(exchange.parts.at(0));
  return live != nullptr && wanted && live->record().execution_id == wanted;
}

void admit_in_run_caller(const SharedExchange& exchange, InRunAccess inside, std::function<void()> go) {
  switch (inside) {
    case InRunAccess::anyone:
    case InRunAccess::starts:
    case InRunAccess::reported:
      return go();
    case InRunAccess::own_run:
      return require_own_run(exchange, base::RunId::parse(exchange->parts.at(0)), std::move(go));
    case InRunAccess::own_approvals:
      return require_own_run(exchange, base::RunId::parse(exchange->query("run").value_or("")), std::move(go));
    case InRunAccess::own_approval:
      return require_own_approval(exchange, std::move(go));
    case InRunAccess::own_execution:
      if (is_own_execution(*exchange)) return go();
      return refuse(exchange);
    case InRunAccess::own_call:
      return require_own_call(exchange, std::move(go));
    case InRunAccess::own_calls:
      return require_calls_of_own_run(exchange, base::RunId::parse(exchange->query("run").value_or("")), go);
    case InRunAccess::unsaid:
    case InRunAccess::refused:
      return refuse(exchange);
  }
}

}  // namespace

// Searches the holders of connections, in one pass for all waiting requests.
class InRunPolicy::SocketOwnerScanner {
 public:
  using Take = std::function<void(const PortPeers& found)>;

  explicit SocketOwnerScanner(runtime::Loop& loop)
      : loop_(loop), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  // False if too many requests are waiting.
  bool ask(const os::TcpConnection& connection, Take take) {
    constexpr std::size_t max_waiting = 256;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= max_waiting) return false;
    waiting_.push_back({connection, std::move(take)});
    asked_.notify_one();
    return true;
  }

 private:
  struct Task {
    os::TcpConnection connection;
    Take take;
  };

  static PortPeers trace_all(const os::SocketOwners& holders) {
    PortPeers peers{.suspects = {},
                    .is_complete = holders.is_complete,
                    .is_guess = holders.is_guess,
                    .is_of_another_user = holders.is_of_another_user};
    for (const pid_t pid : holders.processes) peers.suspects.push_back(trace(pid));
    for (const pid_t pid : holders.latecomers) peers.latecomers.push_back(trace(pid));
    return peers;
  }

  static std::vector<PortPeers> look(std::span<const os::TcpConnection> connections) {
    const std::vector<os::SocketOwners> found = os::find_socket_owners(connections);
    std::vector<PortPeers> all;
    for (const os::SocketOwners& holders : found) all.push_back(trace_all(holders));
    // Last, because a connection closed during the search may have been held by a process that ended then.
    const std::vector<std::uint64_t> inodes = os::find_inodes(connections);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].is_gone = inodes[i] == 0 || inodes[i] != found[i].inode;
    return all;
  }

  void work(const std::stop_token& stop) {
    // Hidden processes come and go, for example those of a browser.
    constexpr int max_looks = 4;
    while (true) {
      std::vector<Task> tasks;
      {
        std::unique_lock lock(mutex_);
        if (!asked_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
        tasks = std::exchange(waiting_, {});
      }
      std::vector<os::TcpConnection> connections;
      for (const Task& task : tasks) connections.push_back(task.connection);
      std::vector<PortPeers> all = look(connections);
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        for (int again = 0; again < max_looks && all[i].has_lost_a_suspect() && !all[i].is_gone; ++again) {
          all[i] = look(std::span(&connections[i], 1)).front();
        }
        // Callbacks must be released on the loop's thread.
        loop_.post([take = std::move(tasks[i].take), told = std::move(all[i])] { take(told); });
      }
    }
  }

  runtime::Loop& loop_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::vector<Task> waiting_;
  // Last, because the thread uses all members above.
  std::jthread thread_;
};

InRunPolicy::InRunPolicy(runtime::Daemon& daemon) : daemon_(daemon) {}
InRunPolicy::~InRunPolicy() = default;

void InRunPolicy::admit(const SharedExchange& exchange, const Operation& operation, std::function<void()> go) {
  if (operation.inside == InRunAccess::anyone) return go();
  const bool is_anew = !is_look(*exchange) || operation.inside == InRunAccess::reported;
  find(exchange, is_anew, [exchange, inside = operation.inside, go = std::move(go)] {
    if (!exchange->in_run_caller) return go();
    admit_in_run_caller(exchange, inside, go);
  });
}

void InRunPolicy::find(const SharedExchange& exchange, bool is_anew, std::function<void()> go) {
  const Peer& peer = exchange->request.peer;
  const std::shared_ptr<CachedPeerOrigin> known = peer.peer_origin;
  const auto take = [exchange, known](std::optional<InRunCaller> in_run_caller) {
    if (known) *known = {.is_looked_up = true, .in_run_caller = in_run_caller};
    exchange->in_run_caller = std::move(in_run_caller);
  };
  if (!is_anew && known && known->is_looked_up) {
    exchange->in_run_caller = known->in_run_caller;
    return go();
  }
  if (peer.entrance == Entrance::unix_socket) {
    // A peer without a pid here is in a parent pid namespace, whereas processes inside runs are in child ones. It may
    // read, but not decide.
    take(!is_anew && peer.pid == 0 ? std::nullopt : find_in_run_caller(daemon_, peer));
    return go();
  }
  if (!is_of_this_machine(peer)) {
    take(std::nullopt);
    return go();
  }
  if (!scanner_) scanner_ = std::make_unique<SocketOwnerScanner>(daemon_.loop());
  const auto decide = [this, exchange, take, is_anew, go = std::move(go)](const PortPeers& found) {
    exchange->go_on([&] {
      // An unidentified caller may not change anything. Whether it may read depends on its token: otherwise SSH tunnels
      // and proxies of other users could not read.
      const bool is_unseen = found.is_guess || !found.is_complete;
      take(!is_anew && is_unseen ? std::nullopt : find_in_run_caller(daemon_, found));
      go();
    });
  };
  if (!scanner_->ask({peer.from, peer.to, peer.accepted}, decide)) {
    throw Error(ErrorCode::store_busy, "too many requests are waiting for their sender to be identified",
                "try again in a moment");
  }
}

}  // namespace reeve::server
