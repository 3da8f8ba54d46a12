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
#include "ledger/request_terms.h"
#include "model/audit.h"
#include "model/event.h"
#include "store/session.h"

// A piece of work on the store: all of it is committed, or nothing. Many share one commit.
namespace reeve::ledger {

// An event as it is stored; its number is known at the commit.
struct StoredEvent {
  std::int64_t seq = 0;
  std::string at;
  model::EventKind kind = model::EventKind::policy_denied;
  // JSON: the fields of the event without number, time and kind.
  std::string data;
};

struct AuditEntry {
  model::AuditKind kind = model::AuditKind::policy_denied;
  // Who did it: a person's or token's name, "reeve", "outside".
  std::string actor;
  // JSON.
  std::string data;
};

// What a unit works with while it runs.
class Transaction {
 public:
  explicit Transaction(store::Session& session) noexcept : session_(session), id_(next_id()) {}

  store::Session& session() noexcept { return session_; }

  // Tells transactions apart, and what was read before rows() were changed by other means from what was read after.
  struct Moment {
    std::uint64_t transaction = 0;
    std::uint64_t changes = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  Moment moment() const noexcept { return {id_, changes_}; }
  // Rows of executions were changed by something that does not keep what was read of them up to date.
  void forget_executions() noexcept { ++changes_; }

  // By the store's clock; the same for all units of a group.
  base::WallTime now() { return session_.now(); }
  const std::string& now_text();

  // To be told after the commit, and stored with it (SPEC §9).
  void tell(model::EventKind kind, const base::Value& data);
  void record(model::AuditKind kind, std::string actor, const base::Value& data);

  // The run of a node waits for a person from now on, or no more: its node follows before the commit (GRF-7).
  struct NodeWait {
    base::ExecutionId execution{0};
    std::string node;
    base::RunId run{0};
    bool waits = false;
  };
  void note_wait(NodeWait wait) { waits_.push_back(std::move(wait)); }
  std::vector<NodeWait> take_waits() noexcept { return std::exchange(waits_, {}); }

  // Whether there are any to tell, also when their numbers are not known.
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

// Thrown by a unit: another daemon works on what it needs. It goes back to the queue; when it has changed something
// before, its group is undone.
struct AggregateBusy {};

class Unit {
 public:
  virtual ~Unit() = default;

  // Once, before a transaction begins: for files, which must lie on the disk before the store says so. What it throws
  // is told to finish(), and nothing is run.
  virtual void prepare() {}
  // On a store whose statements travel together: sends early what run() will take, for all units of a group before the
  // first of them runs. What they change afterwards is for run() to know.
  virtual void prefetch(Transaction& /*transaction*/) {}
  // Throws base::Error to be undone and told so. May be called again after a group was undone: it begins anew each
  // time.
  virtual void run(Transaction& transaction) = 0;
  // Exactly once: after the commit, or with what went wrong when nothing of it was stored.
  virtual void finish(const std::optional<base::Error>& error) = 0;

  bool is_prepared = false;
  // Of the request that it belongs to; none for what the daemon does by itself.
  std::shared_ptr<RequestTerms> terms;
  bool may_begin() const noexcept { return !terms || terms->begin(); }
  // Since when another daemon keeps it waiting.
  std::optional<std::chrono::steady_clock::time_point> busy_since;
};

}  // namespace reeve::ledger
