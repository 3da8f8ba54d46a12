#include "runtime/runs/keeper_pool.h"

#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "os/spawn.h"
#include "os/unix_socket.h"

namespace reeve::runtime {

namespace {

// After this many consecutive keepers without a hello, no more are started.
constexpr int max_failures = 3;
// A keeper that was taken but never began is replaced after this pause.
constexpr base::Milliseconds longest_pause{100};

}  // namespace

KeeperPool::KeeperPool(Loop& loop, Options options) : loop_(loop), options_(std::move(options)) {
  if (!options_.crash_point.empty()) options_.size = 1;
  fill();
}

void KeeperPool::take(Taken taken) {
  if (!idle_.empty()) {
    IdleKeeper keeper = std::move(idle_.front().second);
    idle_.pop_front();
    if (idle_.empty()) {
      fill_later();
    } else {
      refill_ = loop_.at(loop_.now() + longest_pause, [this] { fill_later(); });
    }
    taken(std::move(keeper));
    return;
  }
  waiting_.push_back(std::move(taken));
  failures_ = 0;
  fill();
}

void KeeperPool::close() {
  is_closed_ = true;
  refill_ = {};
  idle_.clear();
  starting_.clear();
}

// Starting a keeper blocks the loop for about a millisecond, so start one at a time, after tasks that are due.
void KeeperPool::fill() {
  const std::size_t wanted = options_.size + waiting_.size();
  if (!is_closed_ && failures_ < max_failures && idle_.size() + starting_.size() < wanted) {
    try_start();
    if (idle_.size() + starting_.size() < wanted) fill_later();
  }
  while (failures_ >= max_failures && !waiting_.empty()) {
    const Taken taken = std::move(waiting_.front());
    waiting_.pop_front();
    taken(std::unexpected(base::Error(base::ErrorCode::daemon_no_keeper,
                                      fmt::format("cannot start {}{}", options_.program, failure_),
                                      "see logs/daemon.log in the state folder, or run `reeve doctor`")));
  }
}

void KeeperPool::fill_later() {
  refill_ = {};
  if (std::exchange(is_fill_due_, true)) return;
  loop_.post([this] {
    is_fill_due_ = false;
    fill();
  });
}

// Lack of descriptors, processes or memory is reported to waiting callers and ends nothing.
void KeeperPool::try_start() {
  try {
    start_one();
  } catch (const base::Error& error) {
    failure_ = ": " + error.message();
    ++failures_;
  }
}

void KeeperPool::start_one() {
  os::SocketPair pair = os::make_socket_pair(os::SocketKind::packets);
  os::SpawnPlan plan{.argv = {options_.program, "hold", options_.endpoints}};
#ifdef REEVE_SANITIZED
  // apps/sanitizer.cpp. NOLINTNEXTLINE(concurrency-mt-unsafe): the environment never changes.
  if (const char* folder = std::getenv("REEVE_SANITIZER_REPORTS")) {
    plan.environment.push_back(fmt::format("REEVE_SANITIZER_REPORTS={}", folder));
  }
#endif
  // Only the first keeper dies, so that a test can observe the recovery; with `each:`, every one does.
  constexpr std::string_view each = "each:";
  if (options_.crash_point.starts_with(each)) {
    plan.argv.push_back(options_.crash_point.substr(each.size()));
  } else if (next_number_ == 1 && !options_.crash_point.empty()) {
    plan.argv.push_back(options_.crash_point);
  }
  plan.input = pair.theirs.get();
  plan.error = options_.complaints;
  auto process = os::spawn(plan);
  if (!process) {
    failure_ = ": " + std::generic_category().message(process.error().error_number);
    ++failures_;
    return;
  }
  const std::uint64_t number = next_number_++;
  const pid_t pid = process->pid();
  const int fd = process->fd();
  children_.emplace(pid, Child{std::move(*process), {}});
  children_.at(pid).watch = loop_.watch(fd, [this, pid] { collect(pid); });
  KeeperLink::Events events;
  events.message = [this, number](const keeper::FromKeeper& message) {
    if (const auto* hello = std::get_if<keeper::Hello>(&message)) greeted(number, *hello);
  };
  events.gone = [this, number] { lost(number); };
  starting_.emplace(number, Starting{loop_.make<KeeperLink>(loop_, std::move(pair.ours), std::move(events)), pid});
}

void KeeperPool::greeted(std::uint64_t number, const keeper::Hello& hello) {
  const auto found = starting_.find(number);
  if (found == starting_.end()) return;
  failures_ = 0;
  failure_.clear();
  IdleKeeper keeper{{options_.host, options_.boot_id, hello.pid, static_cast<std::int64_t>(hello.started)},
                    std::move(found->second.link)};
  starting_.erase(found);
  if (waiting_.empty()) {
    idle_.emplace_back(number, std::move(keeper));
    return;
  }
  const Taken taken = std::move(waiting_.front());
  waiting_.pop_front();
  taken(std::move(keeper));
}

void KeeperPool::lost(std::uint64_t number) {
  // Posted, because the keeper's own link calls this.
  loop_.post([this, number] {
    if (starting_.erase(number) > 0) ++failures_;
    std::erase_if(idle_, [&](const auto& entry) { return entry.first == number; });
    fill();
  });
}

void KeeperPool::collect(pid_t pid) {
  const auto found = children_.find(pid);
  if (found == children_.end() || !found->second.process.try_wait()) return;
  loop_.post([this, pid] { children_.erase(pid); });
  found->second.watch = {};
}

}  // namespace reeve::runtime
