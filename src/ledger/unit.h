#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/value.h"
#include "ledger/event.h"
#include "ledger/request_terms.h"
#include "model/audit.h"
#include "model/event.h"
#include "store/session.h"

// A unit of work on the store: committed completely or not at all. Many units share one commit.
namespace reeve::ledger {

struct AuditEntry {
  model::AuditKind kind = model::AuditKind::policy_denied;
  // The actor: a user's or token's name, "reeve", "outside".
  std::string actor;
  // JSON.
  std::string data;
};

// The interface that a unit uses while it runs.
class Transaction {
 public:
  explicit Transaction(store::Session& session) noexcept : session_(session), id_(next_id()) {}

  store::Session& session() noexcept { return session_; }

  // Identifies a transaction, and within it whether rows were read before or after they were changed behind the cache.
  struct Moment {
    std::uint64_t transaction = 0;
    std::uint64_t changes = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  Moment moment() const noexcept { return {id_, changes_}; }
  // Execution rows were changed without updating cached copies: discards the copies.
  void forget_executions() noexcept { ++changes_; }

  // By the store's clock; the same for all units of a group.
  base::WallTime now() { return session_.now(); }
  const std::string& now_text();

  // Stores an event, to be published after the commit (SPEC §9). The facts repeat what the data says.
  void tell(model::EventKind kind, const base::Value& data, const EventFacts& facts);
  void record(model::AuditKind kind, std::string actor, const base::Value& data);

  // A node's run starts or stops waiting for a person: its node follows before the commit (GRF-7).
  struct NodeWait {
    base::ExecutionId execution{0};
    std::string node;
    base::RunId run{0};
    bool waits = false;
  };
  void propagate_wait(NodeWait wait) { waits_.push_back(std::move(wait)); }
  std::vector<NodeWait> take_waits() noexcept { return std::exchange(waits_, {}); }

  // Whether there are events to publish, even if their numbers are unknown.
  bool has_events() const noexcept { return has_events_; }
  std::vector<StoredEvent>& events() noexcept { return events_; }
  std::vector<AuditEntry>& audit() noexcept { return audit_; }

 private:
  store::Session& session_;
  std::string now_text_;
  std::vector<StoredEvent> events_;
  std::vector<AuditEntry> audit_;
  std::vector<NodeWait> waits_;
  bool has_events_ = false;
  static std::uint64_t next_id() noexcept;
  std::uint64_t id_;
  std::uint64_t changes_ = 0;
};

// Thrown by a unit if another daemon works on what it needs. The unit goes back to the queue; if it has already changed
// something, its group is rolled back.
struct AggregateBusy {};

class Unit {
 public:
  virtual ~Unit() = default;

  // Called once, before a transaction begins: for files that must be on disk before the store refers to them. If it
  // throws, the error goes to finish(), and nothing runs.
  virtual void prepare() {}
  // On a pipelined store: sends the reads of run() early, for all units of a group before the first of them runs. run()
  // must account for changes made by earlier units.
  virtual void prefetch(Transaction& /*transaction*/) {}
  // Throws base::Error to be rolled back and refused. May be called again after a rollback: it starts from scratch each
  // time.
  virtual void run(Transaction& transaction) = 0;
  // Called exactly once: after the commit, or with the error if nothing was stored.
  virtual void finish(const std::optional<base::Error>& error) = 0;

  bool is_prepared = false;
  // The request that it belongs to; null for the daemon's own work.
  std::shared_ptr<RequestTerms> terms;
  bool may_begin() const noexcept { return !terms || terms->begin(); }
  // Since when it has been waiting for another daemon.
  std::optional<std::chrono::steady_clock::time_point> busy_since;
};

}  // namespace reeve::ledger
