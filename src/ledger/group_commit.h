#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ledger/aftermath.h"
#include "ledger/unit.h"

// Many units, one commit.
namespace reeve::ledger {

using Group = std::vector<std::unique_ptr<Unit>>;

// Runs a group in one transaction, optimistically; when anything goes wrong the whole is undone and its units run one
// by one, so that a failing one never harms its neighbours. Nothing is told or answered before it is durable.
class GroupCommit {
 public:
  struct Hooks {
    // Events of a commit, in their order, numbered without gaps. None: something was committed and its numbers got lost
    // with a connection; whoever follows the events reads on from the last that it saw.
    std::function<void(std::span<const StoredEvent>)> publish = {};
    // A transaction that changed something is durable: how many units shared it, and how long it took as a whole.
    std::function<void(std::size_t units, std::chrono::nanoseconds took)> committed = {};
    // Where a test may let the process die.
    std::function<void(std::string_view)> crash_point = {};
    // How long to try again when the database's server has gone away.
    base::Milliseconds outage_patience = std::chrono::seconds(30);
  };

  // The session and the aftermath must outlive it. Without one nothing follows from what units do.
  GroupCommit(store::Session& session, Hooks hooks, Aftermath* aftermath = nullptr)
      : session_(session), hooks_(std::move(hooks)), aftermath_(aftermath) {}

  // Finishes each unit, but for those it returns: what they need is another daemon's for the moment.
  Group run(Group group);

  // From any thread: whether it waits for the lock without which nothing begins.
  bool is_beginning() const noexcept { return is_beginning_; }

 private:
  static bool prepare(Unit& unit);
  void begin(std::size_t units);
  bool try_together(Group& group, Group& busy);
  void run_unit(Unit& unit, Transaction& transaction);
  void finish_aftermath(const std::optional<base::Error>& error);
  bool run_or_leave(Unit& unit, Transaction& transaction);
  std::optional<base::Error> run_alone(std::unique_ptr<Unit> unit, Group& busy,
                                       std::chrono::steady_clock::time_point give_up);
  std::optional<store::Session::Ticket> append_events(Transaction& transaction);
  void number_events(store::Session::Ticket ticket, std::vector<StoredEvent>& events);
  void publish(Transaction& transaction) const;
  void commit(Transaction& transaction);
  void pass(std::string_view point) const;

  // Where a transaction began, so that it can be told what it cost.
  struct Mark {
    std::chrono::steady_clock::time_point at;
    std::int64_t changes = 0;
  };
  Mark mark() const;
  void tell_committed(const Mark& mark, std::size_t units) const;

  store::Session& session_;
  Hooks hooks_;
  Aftermath* aftermath_;
  std::atomic<bool> is_beginning_ = false;
};

}  // namespace reeve::ledger
