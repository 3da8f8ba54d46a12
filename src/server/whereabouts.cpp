#include "server/whereabouts.h"

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "os/holders.h"
#include "runtime/store_task.h"
#include "server/insider.h"
#include "store/approvals.h"
#include "store/runs.h"

namespace reeve::server {

namespace {

using base::Error;

// Whoever reaches a loopback address is here, whatever address it took for its own end.
bool is_of_this_machine(const Peer& peer) {
  return peer.from.is_loopback() || peer.to.is_loopback() || os::is_own_address(peer.from);
}

// Its own run, or one that it has started.
bool is_own(store::Session& session, const Insider& insider, base::RunId run) {
  if (run == insider.held) return true;
  const auto found = store::find_run(session, run);
  if (!found) return false;
  const auto names = [&](const char* key, const std::string& parent) {
    const auto member = found->run.metadata.find(key);
    return member != found->run.metadata.end() && !parent.empty() && member->second == parent;
  };
  return insider.held ? names(parent_run_key, insider.held->text()) : names(parent_keeper_key, insider.keeper);
}

Error not_its_own(const Insider& insider) {
  return {"api.inside_run", fmt::format("a process inside {} reads its own run alone", insider.run),
          insider.held
              ? fmt::format("here `reeve show {0}`, `reeve logs {0}` and `reeve approvals wait` work; look at the "
                            "rest in a shell of your own, outside any run",
                            insider.held->text())
              : std::string("look in a shell of your own, outside any run")};
}

bool is_look(const Exchange& exchange) { return exchange.request.method == "GET" || exchange.request.method == "HEAD"; }

void refuse(const SharedExchange& exchange) { exchange->refuse(not_its_own(*exchange->insider)); }

// What would have acted on a run of somebody else is told.
void refuse_act(const SharedExchange& exchange) {
  const Insider& insider = *exchange->insider;
  // "/api/runs/TR-7/cancel": "cancel TR-7".
  const std::string_view path = exchange->request.path;
  const std::string what = fmt::format("{} {}", path.substr(path.rfind('/') + 1), exchange->parts.at(0));
  report_insider(exchange->daemon, insider, what);
  exchange->refuse(Error("run.inside_run",
                         fmt::format("a process inside {} cannot {}", insider.run, base::visible(what)),
                         "do it in a shell of your own, outside any run"));
}

void refuse_other(const SharedExchange& exchange) {
  if (is_look(*exchange)) return refuse(exchange);
  refuse_act(exchange);
}

// Goes on when `find_run` finds a run in the store that is its own.
template <class FindRun>
void require_own(const SharedExchange& exchange, FindRun find_run, std::function<void()> go) {
  runtime::ask_store(
      exchange->daemon.ledger(), exchange->daemon.loop(),
      [insider = *exchange->insider, find_run](ledger::Transaction& transaction) {
        const std::optional<base::RunId> run = find_run(transaction.session());
        return run && is_own(transaction.session(), insider, *run);
      },
      [exchange, go = std::move(go)](const std::expected<bool, Error>& is_theirs) {
        if (!is_theirs) return exchange->refuse(is_theirs.error());
        if (!*is_theirs) return refuse_other(exchange);
        exchange->go_on(go);
      });
}

void require_own_run(const SharedExchange& exchange, const std::optional<base::RunId>& run, std::function<void()> go) {
  if (run && run == exchange->insider->held) return go();
  require_own(exchange, [run](store::Session&) { return run; }, std::move(go));
}

bool is_own_execution(const Exchange& exchange) {
  const auto own = exchange.insider->held;
  const runtime::LiveRun* live = own ? exchange.daemon.supervisor().find(*own) : nullptr;
  const auto wanted = base::ExecutionId::parse(exchange.parts.at(0));
  return live != nullptr && wanted && live->record().execution_id == wanted;
}

void admit_insider(const SharedExchange& exchange, Inside inside, std::function<void()> go) {
  switch (inside) {
    case Inside::anyone:
    case Inside::starts:
    case Inside::reported:
      return go();
    case Inside::own_run:
      return require_own_run(exchange, base::RunId::parse(exchange->parts.at(0)), std::move(go));
    case Inside::own_approvals:
      return require_own_run(exchange, base::RunId::parse(exchange->query("run").value_or("")), std::move(go));
    case Inside::own_approval:
      return require_own(
          exchange,
          [id = base::ApprovalId::parse(exchange->parts.at(0))](store::Session& session) -> std::optional<base::RunId> {
            const auto found = id ? store::find_approval(session, *id) : std::nullopt;
            return found ? found->approval.tool_run_id : std::nullopt;
          },
          std::move(go));
    case Inside::own_execution:
      if (is_own_execution(*exchange)) return go();
      return refuse(exchange);
    case Inside::unsaid:
    case Inside::refused:
      return refuse(exchange);
  }
}

}  // namespace

// Looks for the holders of connections, for all that wait at once.
class Whereabouts::Seeker {
 public:
  using Take = std::function<void(const PortPeers& found)>;

  explicit Seeker(runtime::Loop& loop) : loop_(loop), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  // False when too many wait.
  bool ask(const os::TcpConnection& connection, Take take) {
    constexpr std::size_t most_waiting = 256;
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= most_waiting) return false;
    waiting_.push_back({connection, std::move(take)});
    asked_.notify_one();
    return true;
  }

 private:
  struct Task {
    os::TcpConnection connection;
    Take take;
  };

  static PortPeers trace_all(const os::Holders& holders) {
    PortPeers peers{.suspects = {},
                    .is_complete = holders.is_complete,
                    .is_guess = holders.is_guess,
                    .is_of_another_user = holders.is_of_another_user};
    for (const pid_t pid : holders.processes) peers.suspects.push_back(trace(pid));
    for (const pid_t pid : holders.latecomers) peers.latecomers.push_back(trace(pid));
    return peers;
  }

  static std::vector<PortPeers> look(std::span<const os::TcpConnection> connections) {
    const std::vector<os::Holders> found = os::find_holders(connections);
    std::vector<PortPeers> all;
    for (const os::Holders& holders : found) all.push_back(trace_all(holders));
    // Last: what was closed while they were looked for may have been held by somebody who ended then.
    const std::vector<std::uint64_t> inodes = os::find_inodes(connections);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].is_gone = inodes[i] == 0 || inodes[i] != found[i].inode;
    return all;
  }

  void work(const std::stop_token& stop) {
    // Processes that hide come and go, as those of a browser do.
    constexpr int most_looks = 4;
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
        for (int again = 0; again < most_looks && all[i].has_lost_a_suspect() && !all[i].is_gone; ++again) {
          all[i] = look(std::span(&connections[i], 1)).front();
        }
        // What it holds is let go of on the loop alone.
        loop_.post([take = std::move(tasks[i].take), told = std::move(all[i])] { take(told); });
      }
    }
  }

  runtime::Loop& loop_;
  std::mutex mutex_;
  std::condition_variable_any asked_;
  std::vector<Task> waiting_;
  // Last: it uses all of the above.
  std::jthread thread_;
};

Whereabouts::Whereabouts(runtime::Daemon& daemon) : daemon_(daemon) {}
Whereabouts::~Whereabouts() = default;

void Whereabouts::admit(const SharedExchange& exchange, const Operation& operation, std::function<void()> go) {
  if (operation.inside == Inside::anyone) return go();
  const bool is_anew = !is_look(*exchange) || operation.inside == Inside::reported;
  find(exchange, is_anew, [exchange, inside = operation.inside, go = std::move(go)] {
    if (!exchange->insider) return go();
    admit_insider(exchange, inside, go);
  });
}

void Whereabouts::find(const SharedExchange& exchange, bool is_anew, std::function<void()> go) {
  const Peer& peer = exchange->request.peer;
  const std::shared_ptr<Acquaintance> known = peer.acquaintance;
  const auto take = [exchange, known](std::optional<Insider> insider) {
    if (known) *known = {.is_looked_up = true, .insider = insider};
    exchange->insider = std::move(insider);
  };
  if (!is_anew && known && known->is_looked_up) {
    exchange->insider = known->insider;
    return go();
  }
  if (peer.entrance == Entrance::unix_socket) {
    // One that has no number here is of a namespace above: what is inside a run is below. It looks, and decides
    // nothing.
    take(!is_anew && peer.pid == 0 ? std::nullopt : find_insider(daemon_, peer));
    return go();
  }
  if (!is_of_this_machine(peer)) {
    take(std::nullopt);
    return go();
  }
  if (!seeker_) seeker_ = std::make_unique<Seeker>(daemon_.loop());
  const auto decide = [this, exchange, take, is_anew, go = std::move(go)](const PortPeers& found) {
    exchange->go_on([&] {
      // Who was not seen changes nothing; whether it may look is its token's matter, or a tunnel of ssh and a proxy of
      // another user would let nobody look.
      const bool is_unseen = found.is_guess || !found.is_complete;
      take(!is_anew && is_unseen ? std::nullopt : find_insider(daemon_, found));
      go();
    });
  };
  if (!seeker_->ask({peer.from, peer.to, peer.accepted}, decide)) {
    throw Error("store.busy", "too many requests wait until it is known who sent them", "try again in a moment");
  }
}

}  // namespace reeve::server
