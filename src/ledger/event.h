#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/id.h"
#include "model/approval.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/run.h"
#include "store/session.h"

// Events as they are stored and published (SPEC §9).
namespace reeve::ledger {

// The parts of an event that the daemon itself acts on, so that it never parses text that it has just written. Small:
// every event in memory has a copy.
struct EventFacts {
  // The status that the event reports, of the noun that the event is about.
  using Status =
      std::variant<std::monostate, model::RunStatus, model::ApprovalStatus, model::NodeStatus, model::ExecutionStatus>;
  Status status = {};
  std::optional<base::ExecutionId> execution = std::nullopt;
  // Of a run that has ended.
  std::optional<base::Milliseconds> duration = std::nullopt;
  // An approval that expires or is to be repeated.
  bool expires = false;
  // Whether the execution was started by a node of another one.
  bool is_child = false;
  friend bool operator==(const EventFacts&, const EventFacts&) = default;
};

// A stored event; its number is known at the commit.
struct StoredEvent {
  std::int64_t seq = 0;
  std::string at;
  model::EventKind kind = model::EventKind::policy_denied;
  // JSON: the fields of the event without number, time and kind.
  std::string data;
  // Set by the transaction that stores the event. An event read from the store has only its text: see read_facts.
  std::optional<EventFacts> facts = std::nullopt;
};

// A row of `events_since`.
StoredEvent read_event(const store::Row& row);

// Parses the text of an event that was read from the store. A missing or unknown value is left out.
EventFacts read_facts(const StoredEvent& event);

}  // namespace reeve::ledger
