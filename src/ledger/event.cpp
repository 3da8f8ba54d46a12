#include "ledger/event.h"

#include "json/fields.h"
#include "json/parse.h"

namespace reeve::ledger {

namespace {

using model::EventKind;

template <base::DescribedEnum E>
EventFacts::Status find_status(const base::Value& data) {
  const auto found = base::find_enum<E>(json::text_of(data, "status"));
  return found ? EventFacts::Status(*found) : EventFacts::Status();
}

EventFacts::Status read_status(EventKind kind, const base::Value& data) {
  switch (kind) {
    case EventKind::tool_status_change:
      return find_status<model::RunStatus>(data);
    case EventKind::approval_status_change:
      return find_status<model::ApprovalStatus>(data);
    case EventKind::node_status_change:
      return find_status<model::NodeStatus>(data);
    case EventKind::execution_status_change:
      return find_status<model::ExecutionStatus>(data);
    default:
      return {};
  }
}

}  // namespace

StoredEvent read_event(const store::Row& row) {
  return {row.integer(0), std::string(row.text(1)), row.word<EventKind>(2), std::string(row.text(3))};
}

EventFacts read_facts(const StoredEvent& event) {
  const auto data = json::parse(event.data);
  if (!data) return {};
  const auto duration = json::integer_of(*data, "duration_ms");
  return {.status = read_status(event.kind, *data),
          .execution = json::id_of<base::ExecutionId>(*data, "execution_id"),
          .duration = duration ? std::optional(base::Milliseconds(*duration)) : std::nullopt,
          .expires = event.kind == EventKind::approval_needed,
          .is_child = !json::text_of(*data, "parent_execution_id").empty()};
}

}  // namespace reeve::ledger
