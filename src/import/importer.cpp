#include "import/importer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "import/context.h"
#include "json/describe.h"
#include "json/encode.h"
#include "store/stored_json.h"

namespace reeve::import {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using store::ForeignTable;
using store::ForeignValue;
using store::Row;
using store::Sql;

constexpr auto known_tables = std::to_array<std::string_view>(
    {"uet_executions", "uet_tasks", "tool_runs", "approvals", "approval", "patch_ledger", "graph_workflows",
     "graph_executions", "node_executions", "loop_counters", "pipelines", "pipeline", "steps", "step", "audit_events",
     "audit_event"});
constexpr std::int64_t max_rows = 1'000'000;
constexpr std::size_t max_named = 20;

bool is_known(std::string_view name) {
  return std::ranges::find(known_tables, base::to_ascii_lower(name)) != known_tables.end();
}

std::string list_names(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < max_named) shown.push_back(base::quoted(base::truncate_utf8(name, longest_old_id)));
  }
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > max_named ? ", …" : "");
}

void refuse_own(const store::ForeignFile& file) {
  const ForeignTable* runs = file.find("tool_runs");
  const bool is_own = file.find("schema_migrations") != nullptr && file.find("audit_log") != nullptr &&
                      runs != nullptr && has_column(*runs, "number");
  if (!is_own) return;
  throw Error(ErrorCode::import_own_database, "this is a Reeve database; there is nothing to import",
              "use it directly: `reeve --state FOLDER` if it is the folder's reeve.db, or `store: sqlite:PATH` in the "
              "config");
}

void refuse_unknown(const store::ForeignFile& file) {
  const bool has_any =
      std::ranges::any_of(file.tables(), [](const ForeignTable& table) { return is_known(table.name); });
  if (has_any) return;
  std::vector<std::string> names;
  for (const ForeignTable& table : file.tables()) names.push_back(table.name);
  names.insert(names.end(), file.others().begin(), file.others().end());
  throw Error(ErrorCode::import_no_tables,
              names.empty() ? "the file has no tables"
                            : fmt::format("the file has no known tables; it has {}", list_names(names)),
              "docs/IMPORT.md lists the tables that can be imported");
}

// Unambiguous, so that different rows never have the same encoding.
void append(std::string& bytes, const ForeignValue& value) {
  switch (value.kind) {
    case ForeignValue::Kind::null:
      bytes += 'n';
      return;
    case ForeignValue::Kind::integer:
      bytes += fmt::format("i{};", value.integer);
      return;
    case ForeignValue::Kind::real:
      bytes += fmt::format("r{};", value.real);
      return;
    case ForeignValue::Kind::text:
    case ForeignValue::Kind::blob:
      bytes += fmt::format("{}{};", value.kind == ForeignValue::Kind::text ? 't' : 'b', value.bytes.size());
      bytes += value.bytes;
      return;
  }
}

std::optional<wire::ImportRecord> find_earlier(ledger::Transaction& transaction, const std::string& hash) {
  std::optional<wire::ImportRecord> found;
  transaction.session().query(Sql::import_find, {{"hash", hash}}, [&](const Row& row) {
    found = store::decode_stored<wire::ImportRecord>(row.text(4));
    found->already_imported = true;
  });
  return found;
}

void note_others(ImportContext& context) {
  for (const std::string& name : context.file().others()) {
    if (is_known(name)) context.note(fmt::format("{} is not an ordinary table and was not read", base::quoted(name)));
  }
}

Value describe(const wire::ImportRecord& record) {
  Value taken = Value::object();
  for (const wire::ImportKind& kind : record.kinds) taken.set(kind.kind, Value::integer(kind.taken));
  Value data = Value::object();
  data.set("path", Value::string(record.path));
  data.set("content_hash", Value::string(record.content_hash));
  data.set("taken", std::move(taken));
  return data;
}

}  // namespace

ImportSurvey survey_import(store::ForeignFile& file) {
  refuse_own(file);
  refuse_unknown(file);
  ImportSurvey survey;
  std::string hash;
  std::int64_t total = 0;
  for (const ForeignTable& table : file.tables()) {
    if (!is_known(table.name)) continue;
    std::int64_t& rows = survey.rows[table.name];
    std::string head = hash + base::to_ascii_lower(table.name);
    for (const std::string& column : table.columns) head += fmt::format("\n{}", column);
    hash = base::sha256_hex(head);
    std::string bytes;
    file.scan(table, [&](const store::ForeignRow& row) {
      if (++total > max_rows) {
        throw Error(ErrorCode::import_too_large, fmt::format("the file has more than {} rows", max_rows),
                    "delete unneeded rows from a copy and import that");
      }
      ++rows;
      bytes = hash;
      for (std::size_t i = 0; i < table.columns.size(); ++i) append(bytes, row.value(i));
      hash = base::sha256_hex(bytes);
    });
  }
  survey.content_hash = "sha256:" + hash;
  return survey;
}

wire::ImportRecord import_rows(ledger::Transaction& transaction, store::ForeignFile& file, const ImportSurvey& survey,
                               const ImportOrder& order) {
  if (auto earlier = find_earlier(transaction, survey.content_hash)) return std::move(*earlier);
  store::Session& session = transaction.session();
  const std::int64_t import = session.insert(
      Sql::import_insert, "imports",
      {{"hash", survey.content_hash}, {"path", order.path}, {"by", order.actor}, {"now", transaction.now_text()}});
  ImportContext context(transaction, file, import, survey.rows);
  note_others(context);
  // Referenced tables come first.
  import_workflows(context);
  import_uet_executions(context);
  import_graph_executions(context);
  import_pipelines(context);
  import_tool_runs(context);
  import_approvals(context);
  import_patches(context);
  import_tasks(context);
  import_audit_events(context);
  wire::ImportRecord record = context.report();
  record.path = order.path;
  record.content_hash = survey.content_hash;
  record.imported_at = transaction.now();
  record.imported_by = order.actor;
  session.write(Sql::import_summary, {{"summary", json::encode(json::to_value(record))}, {"import", import}});
  transaction.record(model::AuditKind::imported, order.actor, describe(record));
  return record;
}

}  // namespace reeve::import
