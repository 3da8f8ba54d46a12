#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ledger/node_status_propagation.h"
#include "ledger/unit.h"

// Commits many units in one transaction.
namespace reeve::ledger {

using Group = std::vector<std::unique_ptr<Unit>>;

// Runs a group in one transaction, optimistically. If anything fails, everything is rolled back and the units run one
// by one, so that a failing unit never harms the others. Nothing is published or answered before it is durable.
class GroupCommit {
 public:
  struct Hooks {
    // Events of a commit, in order, numbered without gaps. Empty: something was committed but its numbers were lost
    // with the connection; subscribers must read on from their last event.
    std::function<void(std::span<const StoredEvent>)> publish = {};
    // A transaction with changes is durable: how many units shared it, and how long it took.
    std::function<void(std::size_t units, std::chrono::nanoseconds took)> committed = {};
    // A point at which tests may kill the process.
    std::function<void(std::string_view)> crash_point = {};
    // How long to retry after losing the database server.
    base::Milliseconds outage_timeout = std::chrono::seconds(30);
  };

  // The session and the propagation must outlive it. Without an propagation, run changes are not propagated to nodes.
  GroupCommit(store::Session& session, Hooks hooks, NodeStatusPropagation* propagation = nullptr)
      : session_(session), hooks_(std::move(hooks)), propagation_(propagation) {}

  // Finishes every unit except those it returns, which need something that another daemon holds.
  Group run(Group group);

  // From any thread: whether it waits for the lock to begin a transaction.
  bool is_beginning() const noexcept { return is_beginning_; }

  // Ends a unit, and counts it if it failed.
  void finish(Unit& unit, const std::optional<base::Error>& error);
  // How many units have failed, for whatever reason.
  std::uint64_t failures() const noexcept { return failures_; }

 private:
  bool prepare(Unit& unit);
  void begin(std::size_t units);
  bool try_together(Group& group, Group& busy);
  void run_unit(Unit& unit, Transaction& transaction);
  void finish_propagation(const std::optional<base::Error>& error);
  bool run_or_leave(Unit& unit, Transaction& transaction);
  std::optional<base::Error> run_alone(std::unique_ptr<Unit> unit, Group& busy,
                                       std::chrono::steady_clock::time_point give_up);
  std::optional<store::Session::Ticket> append_events(Transaction& transaction);
  void number_events(store::Session::Ticket ticket, std::vector<StoredEvent>& events);
  void publish(Transaction& transaction) const;
  void commit(Transaction& transaction);
  void pass(std::string_view point) const;

  // The start of a transaction, to measure its cost.
  struct Mark {
    std::chrono::steady_clock::time_point at;
    std::int64_t changes = 0;
  };
  Mark mark() const;
  void tell_committed(const Mark& mark, std::size_t units) const;

  store::Session& session_;
  Hooks hooks_;
  NodeStatusPropagation* propagation_;
  std::atomic<bool> is_beginning_ = false;
  std::uint64_t failures_ = 0;
};

}  // namespace reeve::ledger
