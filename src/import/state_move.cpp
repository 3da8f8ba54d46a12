#include "import/state_move.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <variant>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "import/row.h"
#include "import/state_columns.h"
#include "json/describe.h"
#include "json/encode.h"
#include "json/parse.h"
#include "ledger/audit.h"
#include "ledger/workflows.h"
#include "spec/workflow_file.h"
#include "store/store.h"
#include "store/stored_json.h"

namespace reeve::import {

namespace {

using base::Error;
using base::ErrorCode;
using base::Value;
using store::ForeignTable;
using store::ForeignValue;
using store::Param;
using store::Row;
using store::Sql;

constexpr std::int64_t nodes_per_execution = 1 << 20;
constexpr std::int64_t max_rows = 2'000'000;

// The tables whose rows get new numbers.
enum class Numbered { execution, run, approval, patch, task, grant, call };
constexpr std::array prefixes = {"EX", "TR", "AP", "PA", "TK", "GR", "TC"};
constexpr std::array words = {"executions", "runs", "approvals", "patches", "tasks", "grants", "calls"};
std::size_t at(Numbered kind) { return static_cast<std::size_t>(kind); }

// A cell as it is written.
using Cell = std::variant<std::monostate, std::int64_t, std::string>;

store::Bind bind(const Cell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

bool is_null(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

std::string clean(std::string_view bytes) {
  const std::string text = base::replace_invalid_utf8(bytes);
  return text.find('\0') != std::string::npos ? store::without_nul(text) : text;
}

Cell read_cell(const ForeignValue& value) {
  switch (value.kind) {
    case ForeignValue::Kind::integer:
      return value.integer;
    case ForeignValue::Kind::text:
    case ForeignValue::Kind::blob:
      return clean(value.bytes);
    default:
      return std::monostate();
  }
}

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> allowed) {
  return std::ranges::find(allowed, word) != allowed.end();
}

[[noreturn]] void throw_damaged(std::string_view what) {
  throw Error(ErrorCode::import_damaged, fmt::format("the database of the state folder is damaged: {}", what),
              "nothing was moved; `reeve doctor --state FOLDER` checks it");
}

class Copy {
 public:
  Copy(ledger::Transaction& transaction, store::ForeignFile& file, const StateMoveOrder& order)
      : transaction_(transaction), session_(transaction.session()), file_(file), order_(order) {}

  CopiedState run() {
    check_schema();
    find_or_begin();
    copy_workflows();
    // Referenced tables come first.
    copy_numbered({"executions", Numbered::execution, Sql::move_execution, execution_columns});
    copy_numbered({"tool_runs", Numbered::run, Sql::move_run, run_columns});
    copy_numbered({"approvals", Numbered::approval, Sql::move_approval, approval_columns});
    copy_numbered({"patch_ledger", Numbered::patch, Sql::move_patch, patch_columns});
    copy_numbered({"tasks", Numbered::task, Sql::move_task, task_columns});
    copy_numbered({"grants", Numbered::grant, Sql::move_grant, grant_columns});
    copy_numbered({"tool_calls", Numbered::call, Sql::move_call, call_columns});
    copy_parts({"agent_sessions", Numbered::run, "run", Sql::move_agent_session, agent_session_columns});
    copy_parts({"run_attempts", Numbered::run, "run", Sql::move_attempt, attempt_columns});
    copy_parts({"node_executions", Numbered::execution, "execution", Sql::move_node, node_columns});
    copy_parts({"node_history", Numbered::execution, "slot", Sql::move_node_history, history_columns});
    copy_parts({"loop_counters", Numbered::execution, "execution", Sql::move_loop_counter, loop_columns});
    copy_audit();
    return report();
  }

 private:
  struct NumberedTable {
    std::string_view name;
    Numbered kind;
    Sql insert;
    std::span<const StateColumn> columns;
  };
  struct PartTable {
    std::string_view name;
    // The rows that they are parts of, and the column that names them.
    Numbered kind;
    std::string_view key;
    Sql insert;
    std::span<const StateColumn> columns;
  };

  const ForeignTable& table(std::string_view name) const {
    const ForeignTable* found = file_.find(name);
    if (found == nullptr) throw_damaged(fmt::format("it has no table `{}`", name));
    return *found;
  }

  static std::size_t index_of(const ForeignTable& table, std::string_view name) {
    const auto found = std::ranges::find(table.columns, name);
    if (found == table.columns.end()) throw_damaged(fmt::format("`{}` has no column `{}`", table.name, name));
    return static_cast<std::size_t>(found - table.columns.begin());
  }

  static std::int64_t integer(const store::ForeignRow& row, std::size_t column) {
    const ForeignValue value = row.value(column);
    if (value.kind != ForeignValue::Kind::integer || value.integer < 0) {
      throw_damaged(fmt::format("`{}` has a row without a number", row.table().name));
    }
    return value.integer;
  }

  void check_schema() {
    const ForeignTable& versions = table("schema_migrations");
    const std::size_t column = index_of(versions, "version");
    std::int64_t newest = 0;
    file_.scan(versions, [&](const store::ForeignRow& row) { newest = std::max(newest, integer(row, column)); });
    if (newest == store::newest_schema()) return;
    throw Error(newest < store::newest_schema() ? ErrorCode::store_too_old : ErrorCode::store_newer,
                fmt::format("the database of the state folder has schema {}; this Reeve has {}", newest,
                            store::newest_schema()),
                "start this Reeve in the folder once, which updates the database, and try again");
  }

  void find_or_begin() {
    const std::string hash = "state:" + order_.identity;
    session_.query(Sql::import_find, {{"hash", hash}}, [&](const Row& row) { import_ = row.integer(0); });
    if (import_ == 0) {
      import_ = session_.insert(
          Sql::import_insert, "imports",
          {{"hash", hash}, {"path", order_.project}, {"by", order_.actor}, {"now", transaction_.now_text()}});
    }
  }

  // The number here of a row that an earlier move has copied.
  std::optional<std::int64_t> find_copied(std::string_view kind, const std::string& old_id) {
    std::optional<std::int64_t> found;
    session_.query(Sql::imported_row_find, {{"import", import_}, {"kind", kind}, {"old_id", old_id}},
                   [&](const Row& row) { found = row.integer(0); });
    return found;
  }
  void remember(std::string_view kind, const std::string& old_id, std::int64_t number) {
    session_.write_any(Sql::imported_row_insert,
                       {{"import", import_}, {"kind", kind}, {"old_id", old_id}, {"number", number}});
  }
  void count(std::string_view kind) {
    if (++written_ > max_rows) {
      throw Error(ErrorCode::import_too_large, fmt::format("the state folder has more than {} records", max_rows),
                  "nothing was moved; `reeve prune` removes old records");
    }
    ++counts_[std::string(kind)];
  }

  std::int64_t number_of(Numbered kind, std::int64_t old) const {
    const auto found = numbers_[at(kind)].find(old);
    if (found == numbers_[at(kind)].end()) {
      throw_damaged(fmt::format("it refers to {}-{}, which does not exist", prefixes[at(kind)], old));
    }
    return found->second;
  }

  Cell find_kept(Numbered kind, const std::int64_t* old) const {
    if (old == nullptr) return {};
    const auto found = numbers_[at(kind)].find(*old);
    return found != numbers_[at(kind)].end() ? Cell(found->second) : Cell();
  }

  Cell convert(const StateColumn& column, Cell cell, const std::string& old_id) const {
    const auto* number = std::get_if<std::int64_t>(&cell);
    const auto* text = std::get_if<std::string>(&cell);
    switch (column.holds) {
      case Holds::plain:
        return cell;
      case Holds::execution:
        return number != nullptr ? Cell(number_of(Numbered::execution, *number)) : Cell();
      case Holds::run:
        return number != nullptr ? Cell(number_of(Numbered::run, *number)) : Cell();
      case Holds::approval:
        return number != nullptr ? Cell(number_of(Numbered::approval, *number)) : Cell();
      case Holds::kept_run:
        return find_kept(Numbered::run, number);
      case Holds::kept_approval:
        return find_kept(Numbered::approval, number);
      case Holds::kept_grant:
        return find_kept(Numbered::grant, number);
      case Holds::slot:
        if (number == nullptr) throw_damaged("a node has no slot");
        return number_of(Numbered::execution, *number / nodes_per_execution) * nodes_per_execution +
               *number % nodes_per_execution;
      case Holds::run_metadata:
      case Holds::execution_config:
        return with_origin(text != nullptr ? *text : "{}", old_id);
      case Holds::project:
        return text != nullptr ? cell : Cell(order_.project);
      case Holds::task_ids:
        return convert_tasks(text != nullptr ? *text : "[]");
    }
    return {};
  }

  // "shop/TR-1", by which the old id is found in the record.
  std::string with_origin(const std::string& stored, const std::string& old_id) const {
    auto parsed = json::parse(stored, {.bytes = longest_old_json});
    Value object = parsed && parsed->as_object() != nullptr ? std::move(*parsed) : Value::object();
    object.set("imported_from", Value::string(fmt::format("{}/{}", order_.name, old_id)));
    return json::encode(object);
  }

  std::string convert_tasks(const std::string& stored) const {
    Value::Array converted;
    const auto parsed = json::parse(stored, {.bytes = longest_old_json});
    const auto* list = parsed ? parsed->as_array() : nullptr;
    if (list == nullptr) return "[]";
    for (const Value& item : *list) {
      const auto id = item.as_string() != nullptr ? base::TaskId::parse(*item.as_string()) : std::nullopt;
      if (!id) continue;
      converted.push_back(Value::string(base::TaskId(number_of(Numbered::task, id->number())).text()));
    }
    return json::encode(Value::array(std::move(converted)));
  }

  using Cells = std::vector<std::pair<std::string_view, Cell>>;
  static Cell& cell(Cells& cells, std::string_view name) {
    return std::ranges::find(cells, name, &Cells::value_type::first)->second;
  }

  Cells read(const store::ForeignRow& row, std::span<const StateColumn> columns, const std::string& old_id) const {
    Cells cells;
    cells.reserve(columns.size());
    for (const StateColumn& column : columns) {
      cells.emplace_back(column.name,
                         convert(column, read_cell(row.value(index_of(row.table(), column.name))), old_id));
    }
    return cells;
  }

  // Nothing that is copied acts again: open work is refused, and a grant that was not used is void.
  void settle(Numbered kind, Cells& cells, const std::string& old_id) const {
    if (kind == Numbered::patch) return;
    if (kind == Numbered::grant) return revoke(cells);
    if (kind == Numbered::call) return end_call(cells);
    const auto* status = std::get_if<std::string>(&cell(cells, "status"));
    const bool is_open = status == nullptr || is_one_of(*status, {"queued", "running", "stalled", "waiting_approval",
                                                                  "pending", "slung", "hooked"});
    if (is_open) {
      throw Error(ErrorCode::execution_not_completed,
                  fmt::format("{} is still {}", old_id, status != nullptr ? *status : "unfinished"),
                  "nothing was moved; decide, end or cancel it first");
    }
    if (kind != Numbered::approval) return;
    // The asker may have used the name of its question here, too.
    if (!is_null(cell(cells, "asked_by"))) cell(cells, "tool_ref") = {};
    cell(cells, "settled") = std::int64_t{1};
    if (cell(cells, "use") == Cell("unused") && *status == "approved") cell(cells, "use") = "void";
  }

  void revoke(Cells& cells) const {
    if (!is_null(cell(cells, "revoked_at"))) return;
    cell(cells, "revoked_at") = transaction_.now_text();
    cell(cells, "revoked_by") = order_.actor;
  }

  // Its run is over, so that nobody waits for it.
  static void end_call(Cells& cells) {
    Cell& outcome = cell(cells, "outcome");
    if (!is_null(outcome) && outcome != Cell("deferred")) return;
    outcome = is_null(cell(cells, "taken_attempt")) ? "withdrawn" : "lost";
    if (!is_null(cell(cells, "answer"))) return;
    cell(cells, "answer") = "deny";
    cell(cells, "answered_at") = cell(cells, "asked_at");
  }

  void copy_numbered(const NumberedTable& wanted) {
    const ForeignTable& from = table(wanted.name);
    const std::size_t number = index_of(from, "number");
    auto& numbers = numbers_[at(wanted.kind)];
    file_.scan(from, [&](const store::ForeignRow& row) {
      const std::int64_t old = integer(row, number);
      const std::string old_id = fmt::format("{}-{}", prefixes[at(wanted.kind)], old);
      if (const auto copied = find_copied("moved", old_id)) {
        numbers.emplace(old, *copied);
        return;
      }
      Cells cells = read(row, wanted.columns, old_id);
      // A grant without the approval that it was made from means nothing here.
      if (wanted.kind == Numbered::grant && is_null(cell(cells, "approval"))) return;
      settle(wanted.kind, cells, old_id);
      count(words[at(wanted.kind)]);
      const std::int64_t made = insert(wanted.insert, wanted.name, cells);
      numbers.emplace(old, made);
      fresh_[at(wanted.kind)].emplace(old, made);
      remember("moved", old_id, made);
    });
  }

  std::int64_t insert(Sql statement, std::string_view table, const Cells& cells) {
    const std::optional<std::int64_t> given = session_.take_number(table);
    std::vector<Param> params = {{"number", given}};
    for (const auto& [name, value] : cells) params.push_back({name, bind(value)});
    if (given) {
      session_.write_any(statement, store::Params(params));
      return *given;
    }
    std::int64_t made = 0;
    session_.query(statement, store::Params(params), [&](const Row& row) { made = row.integer(0); });
    return made;
  }

  // Parts of a row that an earlier move has copied were copied with it.
  void copy_parts(const PartTable& wanted) {
    const ForeignTable& from = table(wanted.name);
    const std::size_t key = index_of(from, wanted.key);
    const auto& fresh = fresh_[at(wanted.kind)];
    file_.scan(from, [&](const store::ForeignRow& row) {
      const std::int64_t old = integer(row, key) / (wanted.key == "slot" ? nodes_per_execution : 1);
      if (!fresh.contains(old)) return;
      Cells cells = read(row, wanted.columns, {});
      if (wanted.insert == Sql::move_attempt) end_attempt(cells);
      if (wanted.insert == Sql::move_node) end_node(cells);
      if (++written_ > max_rows) throw_damaged("it has too many rows");
      std::vector<Param> params;
      for (const auto& [name, value] : cells) params.push_back({name, bind(value)});
      session_.write_any(wanted.insert, store::Params(params));
    });
  }

  static void end_attempt(Cells& cells) { cell(cells, "state") = "ended"; }
  // Nodes that a cancelled execution never reached must not become ready here.
  static void end_node(Cells& cells) {
    Cell& status = cell(cells, "status");
    const auto* word = std::get_if<std::string>(&status);
    if (word != nullptr && is_one_of(*word, {"ready", "running", "waiting_approval"})) status = "cancelled";
  }

  // A stored workflow is known by the hash of its content, which is checked.
  void copy_workflows() {
    const ForeignTable& from = table("workflows");
    const std::size_t hash = index_of(from, "hash");
    const std::size_t definition = index_of(from, "definition");
    file_.scan(from, [&](const store::ForeignRow& row) {
      const auto workflow = store::decode_stored<model::Workflow>(clean(row.value(definition).bytes));
      const std::string content = spec::hash_content(workflow);
      if (content != clean(row.value(hash).bytes)) throw_damaged("a workflow does not match its hash");
      ledger::Workflows::put(session_, content, workflow, transaction_.now_text());
    });
  }

  // Each becomes a new entry that quotes the original and its time; the hash chain of this store continues.
  void copy_audit() {
    const ForeignTable& from = table("audit_log");
    const auto text = [&](const store::ForeignRow& row, std::string_view name) {
      return clean(row.value(index_of(from, name)).bytes);
    };
    const std::size_t seq = index_of(from, "seq");
    file_.scan(from, [&](const store::ForeignRow& row) {
      const std::string old_id = std::to_string(integer(row, seq));
      if (find_copied("moved_audit", old_id)) return;
      count("audit_entries");
      Value data = Value::object();
      data.set("imported_from", Value::string(fmt::format("{}/audit:{}", order_.name, old_id)));
      data.set("event", Value::string(text(row, "kind")));
      data.set("at", Value::string(text(row, "at")));
      auto details = json::parse(text(row, "data"), {.bytes = longest_old_json});
      if (details) data.set("data", std::move(*details));
      transaction_.record(model::AuditKind::imported, text(row, "actor"), data);
      remember("moved_audit", old_id, 0);
      // Flushed in batches, to bound memory.
      constexpr std::size_t max_held = 500;
      if (transaction_.audit().size() < max_held) return;
      ledger::append_audit(transaction_);
      transaction_.audit().clear();
    });
  }

  CopiedState report() {
    CopiedState done;
    for (const auto& [kind, taken] : counts_) {
      done.kinds.push_back({.kind = kind, .taken = taken, .skipped = 0, .reasons = {}});
    }
    for (std::size_t kind = 0; kind < prefixes.size(); ++kind) {
      for (const auto& [old, made] : numbers_[kind]) {
        done.ids.emplace_back(fmt::format("{}-{}", prefixes[kind], old), fmt::format("{}-{}", prefixes[kind], made));
      }
    }
    done.runs.assign(numbers_[at(Numbered::run)].begin(), numbers_[at(Numbered::run)].end());
    if (!counts_.empty()) {
      Value data = Value::object();
      data.set("path", Value::string(order_.project));
      Value taken = Value::object();
      for (const wire::ImportKind& kind : done.kinds) taken.set(kind.kind, Value::integer(kind.taken));
      data.set("taken", std::move(taken));
      transaction_.record(model::AuditKind::imported, order_.actor, data);
    }
    return done;
  }

  ledger::Transaction& transaction_;
  store::Session& session_;
  store::ForeignFile& file_;
  const StateMoveOrder& order_;
  std::int64_t import_ = 0;
  std::int64_t written_ = 0;
  std::map<std::string, std::int64_t> counts_;
  // Old numbers to new ones: all, and those of rows that this move has copied.
  std::array<std::map<std::int64_t, std::int64_t>, prefixes.size()> numbers_;
  std::array<std::map<std::int64_t, std::int64_t>, prefixes.size()> fresh_;
};

}  // namespace

CopiedState copy_state(ledger::Transaction& transaction, store::ForeignFile& file, const StateMoveOrder& order) {
  return Copy(transaction, file, order).run();
}

}  // namespace reeve::import
