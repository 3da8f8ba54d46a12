#include "ledger/audit.h"

#include "import/context.h"

// audit_events (S5). Each becomes a new entry of the audit trail that quotes the original and its time; the hash chain
// continues.
namespace reeve::import {

namespace {

using base::Value;
using store::ForeignTable;

struct EventColumns {
  explicit EventColumns(Columns& columns)
      : id(columns.pick({"id", "event_id"})),
        type(columns.pick({"event_type", "type", "event"})),
        pipeline(columns.pick({"pipeline_id"})),
        step(columns.pick({"step_id"})),
        actor(columns.pick({"actor", "decided_by", "user"})),
        data(columns.pick({"payload", "data", "details", "detail", "message", "metadata"})),
        at(columns.pick({"created_at", "timestamp", "at"})) {}
  Column id, type, pipeline, step, actor, data, at;
};

void take_event(ImportContext& context, const ForeignTable& table, const EventColumns& columns, const OldRow& row) {
  const auto id = context.new_id("audit_events", OldKind::audit_event, row, columns.id);
  if (!id) return;
  const auto type = row.name(columns.type);
  if (!type) return context.skip("audit_events", "it has no event type");
  context.count_written();
  Value data = Value::object();
  data.set("imported_from", Value::string(ImportContext::origin(table, *id)));
  data.set("event", Value::string(*type));
  if (const auto at = row.time(columns.at, context.odd_times)) data.set("at", Value::string(base::format_time(*at)));
  if (const auto pipeline = context.find(OldKind::pipeline, row.id(columns.pipeline))) {
    data.set("execution_id", Value::string(base::ExecutionId(*pipeline).text()));
  }
  if (const auto step = row.id(columns.step)) data.set("step", Value::string(*step));
  if (auto details = row.json(columns.data)) data.set("data", std::move(*details));
  ledger::Transaction& transaction = context.transaction();
  transaction.record(model::AuditKind::imported, row.name(columns.actor).value_or("imported"), data);
  context.remember(OldKind::audit_event, *id, 0);
  context.take("audit_events");
  // Flushed in batches, to bound memory.
  constexpr std::size_t max_held = 500;
  if (transaction.audit().size() < max_held) return;
  ledger::append_audit(transaction);
  transaction.audit().clear();
}

}  // namespace

void import_audit_events(ImportContext& context) {
  const ForeignTable* table = context.file().find("audit_events");
  if (table == nullptr) table = context.file().find("audit_event");
  if (table == nullptr) return;
  Columns columns(*table);
  const EventColumns picked(columns);
  context.note_unused(*table, columns);
  context.file().scan(*table, [&](const store::ForeignRow& row) { take_event(context, *table, picked, OldRow(row)); });
}

}  // namespace reeve::import
