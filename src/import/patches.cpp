#include <limits>

#include <fmt/format.h>

#include "base/text.h"
#include "import/context.h"
#include "import/status.h"
#include "json/describe.h"
#include "json/encode.h"
#include "model/patch.h"

// patch_ledger and uet_tasks (S1, S2). The seeds do not specify their columns, so the usual names are tried.
namespace reeve::import {

namespace {

using base::Value;
using store::ForeignTable;
using store::Sql;

constexpr std::size_t max_files = 1'000;

struct PatchColumns {
  explicit PatchColumns(Columns& columns)
      : id(columns.pick({"patch_id", "ledger_id", "id"})),
        execution(columns.pick({"execution_id", "execution_request_id"})),
        node(columns.pick({"node_id", "task_id", "step_id", "phase_id", "phase_name"})),
        state(columns.pick({"state", "status"})),
        diff(columns.pick({"diff", "patch", "patch_text", "patch_content", "content", "diff_text"})),
        files(columns.pick({"files", "files_modified", "files_changed", "file_path", "patch_file"})),
        base(columns.pick({"base_commit", "base_sha"})),
        commit(columns.pick({"commit_hash", "commit_sha", "commit"})),
        reason(columns.pick({"reason", "error", "last_error", "quarantine_reason"})),
        created(columns.pick({"created_at"})),
        updated(columns.pick({"updated_at", "applied_at", "completed_at"})) {}
  Column id, execution, node, state, diff, files, base, commit, reason, created, updated;
};

// A list of paths, a list of objects with a path, or one path.
std::vector<model::PatchFile> read_files(const OldRow& row, Column column) {
  std::vector<model::PatchFile> files;
  const auto json = row.json(column);
  if (!json) return files;
  const auto add = [&](const Value& item) {
    const Value* path = item.find("path");
    const std::string* text = path != nullptr ? path->as_string() : item.as_string();
    const bool is_path = text != nullptr && !text->empty() && files.size() < max_files;
    if (is_path) files.push_back({.path = std::string(base::truncate_utf8(*text, 4'096)), .added = 0, .removed = 0});
  };
  const auto* list = json->as_array();
  if (list == nullptr) {
    add(*json);
  } else {
    for (const Value& item : *list) add(item);
  }
  return files;
}

class PatchImport {
 public:
  PatchImport(ImportContext& context, const ForeignTable& table) : context_(context), table_(table) {
    Columns columns(table);
    picked_.emplace(columns);
    context.note_unused(table, columns);
  }

  void run() {
    context_.file().scan(table_, [&](const store::ForeignRow& row) { take_patch(OldRow(row)); });
  }

 private:
  void take_patch(const OldRow& row) {
    const auto id = context_.new_id("patches", OldKind::patch, row, picked_->id);
    if (!id) return;
    const auto word = row.name(picked_->state);
    const auto state = word ? find_old_patch_state(*word) : std::nullopt;
    if (!state) return context_.skip("patches", describe_unknown(word));
    // A truncated diff would be worse than none.
    if (row.bytes(picked_->diff) > longest_old_diff) return context_.skip("patches", "its diff is over 16 MiB");
    const auto found = context_.find_execution(row.id(picked_->execution));
    const std::int64_t execution = found ? *found : holder();
    const auto created = row.time(picked_->created, context_.odd_times);
    const auto updated = row.time(picked_->updated, context_.odd_times);
    const base::WallTime began = created ? *created : updated.value_or(context_.now());
    std::vector<model::PatchStep> history{
        {.state = model::PatchState::created,
         .at = began,
         .reason = fmt::format("imported from {}", ImportContext::origin(table_, *id))}};
    if (*state != model::PatchState::created) {
      auto reason = row.text(picked_->reason);
      const bool was_queued = base::to_ascii_lower(*word) == "queued";
      history.push_back({.state = *state,
                         .at = updated.value_or(began),
                         .reason = was_queued ? std::string(imported_reason) : std::move(reason)});
    }
    context_.count_written();
    const std::int64_t number =
        context_.session().insert(Sql::import_patch, "patch_ledger",
                                  {{"execution", execution},
                                   {"root", execution},
                                   {"node_id", row.name(picked_->node).value_or("work")},
                                   // A counter, to distinguish patches of the same node.
                                   {"attempt", ++count_},
                                   {"base_commit", row.name(picked_->base).value_or("")},
                                   {"commit", row.name(picked_->commit).value_or("")},
                                   {"files", json::encode(json::to_value(read_files(row, picked_->files)))},
                                   {"diff", row.text(picked_->diff, longest_old_diff).value_or("")},
                                   {"state", *state},
                                   {"history", json::encode(json::to_value(history))},
                                   {"created_at", base::format_time(began)}});
    context_.remember(OldKind::patch, *id, number);
    context_.take("patches");
  }

  // Every patch needs an execution: one is shared by all patches whose own is not in the file.
  std::int64_t holder() {
    if (holder_) return *holder_;
    model::Workflow workflow;
    workflow.id = "imported";
    workflow.name = "imported patches";
    workflow.nodes.push_back(make_task_node("work", std::nullopt));
    workflow.entry_point = "work";
    OldExecution execution;
    execution.workflow_hash = store_workflow(context_, workflow);
    execution.origin = ImportContext::origin(table_, "");
    execution.status = model::ExecutionStatus::completed;
    holder_ = insert_execution(context_, execution);
    OldNode node;
    node.node_id = "work";
    node.status = model::NodeStatus::skipped;
    insert_node(context_, *holder_, 0, node);
    context_.note(fmt::format("patches whose execution was not imported now belong to EX-{}", *holder_));
    return *holder_;
  }

  ImportContext& context_;
  const ForeignTable& table_;
  std::optional<PatchColumns> picked_;
  std::optional<std::int64_t> holder_;
  std::int64_t count_ = 0;
};

struct TaskColumns {
  explicit TaskColumns(Columns& columns)
      : id(columns.pick({"task_id", "id"})),
        execution(columns.pick({"execution_id"})),
        title(columns.pick({"title", "name", "task_name", "task_type"})),
        description(columns.pick({"description"})),
        role(columns.pick({"role", "tool_name", "worker"})),
        priority(columns.pick({"priority"})),
        status(columns.pick({"status"})),
        created(columns.pick({"created_at", "started_at"})),
        started(columns.pick({"started_at"})),
        completed(columns.pick({"completed_at", "updated_at"})) {}
  Column id, execution, title, description, role, priority, status, created, started, completed;
};

void take_task(ImportContext& context, const TaskColumns& columns, const OldRow& row) {
  const auto id = context.new_id("tasks", OldKind::task, row, columns.id);
  if (!id) return;
  const auto word = row.name(columns.status);
  const auto end = word ? find_old_end(*word) : std::nullopt;
  if (!end) return context.skip("tasks", describe_unknown(word));
  const auto created = row.time(columns.created, context.odd_times);
  const auto completed = row.time(columns.completed, context.odd_times);
  const base::WallTime over = completed ? *completed : created.value_or(context.now());
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  const std::int64_t priority = std::clamp<std::int64_t>(row.integer(columns.priority).value_or(0), -most, most);
  context.count_written();
  const std::int64_t number =
      context.session().insert(Sql::import_task, "tasks",
                               {{"title", row.name(columns.title).value_or(*id)},
                                {"description", row.text(columns.description)},
                                {"role", row.name(columns.role)},
                                {"priority", priority},
                                {"status", task_end(*end)},
                                {"execution", context.find_execution(row.id(columns.execution))},
                                {"created_at", base::format_time(created.value_or(over))},
                                {"completed_at", base::format_time(over)}});
  context.remember(OldKind::task, *id, number);
  context.take("tasks");
}

}  // namespace

void import_patches(ImportContext& context) {
  const ForeignTable* table = context.file().find("patch_ledger");
  if (table != nullptr) PatchImport(context, *table).run();
}

void import_tasks(ImportContext& context) {
  const ForeignTable* table = context.file().find("uet_tasks");
  if (table == nullptr) return;
  Columns columns(*table);
  const TaskColumns picked(columns);
  context.note_unused(*table, columns);
  context.file().scan(*table, [&](const store::ForeignRow& row) { take_task(context, picked, OldRow(row)); });
}

}  // namespace reeve::import
