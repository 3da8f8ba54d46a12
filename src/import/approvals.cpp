#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "import/context.h"
#include "import/status.h"
#include "json/describe.h"
#include "json/encode.h"

// approvals (S1, S2, S4). Those of S5 belong to a step and are imported with it: import_pipelines.cpp.
namespace reeve::import {

namespace {

using base::Value;
using model::ApprovalOption;
using model::ApprovalStatus;
using store::ForeignTable;
using store::Sql;

constexpr std::size_t max_options = 32;

struct ApprovalColumns {
  explicit ApprovalColumns(Columns& columns)
      : id(columns.pick({"approval_id", "id"})),
        run(columns.pick({"tool_run_id"})),
        execution(columns.pick({"execution_id"})),
        tool(columns.pick({"tool_name"})),
        question(columns.pick({"question"})),
        options(columns.pick({"options_json", "options"})),
        default_value(columns.pick({"default_value"})),
        arguments(columns.pick({"arguments"})),
        status(columns.pick({"status"})),
        chosen(columns.pick({"chosen_value"})),
        comment(columns.pick({"comment"})),
        decided_by(columns.pick({"decided_by", "resolved_by"})),
        created(columns.pick({"created_at", "requested_at"})),
        decided(columns.pick({"decided_at", "resolved_at"})),
        expires(columns.pick({"expires_at"})),
        agent(columns.pick({"agent_id"})) {}
  Column id, run, execution, tool, question, options, default_value, arguments, status, chosen, comment, decided_by,
      created, decided, expires, agent;
};

const std::string* find_string(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr ? found->as_string() : nullptr;
}

// [{value, label}], or plain words. Anything else is left out.
std::vector<ApprovalOption> read_options(const OldRow& row, Column column) {
  std::vector<ApprovalOption> options;
  const auto json = row.json(column);
  const auto* list = json ? json->as_array() : nullptr;
  if (list == nullptr) return model::default_options();
  for (const Value& item : *list) {
    if (options.size() >= max_options) break;
    const std::string* value = item.as_string() != nullptr ? item.as_string() : find_string(item, "value");
    if (value == nullptr || value->empty()) continue;
    const std::string* label = find_string(item, "label");
    options.push_back({.value = std::string(base::truncate_utf8(*value, longest_old_id)),
                       .label = std::string(base::truncate_utf8(label != nullptr ? *label : *value, longest_old_id)),
                       .approves = {}});
  }
  return options.empty() ? model::default_options() : model::unique_options(std::move(options));
}

// S4 approves a tool call and stores no question.
std::string question_of(const OldRow& row, const ApprovalColumns& columns) {
  if (auto question = row.text(columns.question); question && !base::trim(*question).empty()) return *question;
  const auto tool = row.name(columns.tool);
  return tool ? fmt::format("Allow {}?", *tool) : "(unknown question)";
}

void take_approval(ImportContext& context, const ApprovalColumns& columns, const OldRow& row) {
  const auto id = context.new_id("approvals", OldKind::approval, row, columns.id);
  if (!id) return;
  const auto word = row.name(columns.status);
  const auto status = word ? find_old_decision(*word) : std::nullopt;
  if (!status) return context.skip("approvals", describe_unknown(word));
  OldApproval approval;
  approval.kind = columns.question ? model::ApprovalKind::question : model::ApprovalKind::tool_call;
  approval.old_id = *id;
  const auto execution = row.id(columns.execution);
  approval.execution = context.find_execution(execution);
  approval.run = context.find(OldKind::tool_run, row.id(columns.run));
  // S2: the run is the one of the execution.
  if (!approval.run) approval.run = context.find(OldKind::uet_run, execution);
  approval.tool_name = row.name(columns.tool);
  approval.arguments = row.object(columns.arguments);
  approval.question = question_of(row, columns);
  approval.options = read_options(row, columns.options);
  approval.default_value = row.name(columns.default_value);
  approval.status = *status;
  approval.chosen_value = row.text(columns.chosen, longest_old_id);
  approval.comment = row.text(columns.comment);
  approval.decided_by = row.name(columns.decided_by);
  approval.created_at = row.time(columns.created, context.odd_times);
  approval.decided_at = row.time(columns.decided, context.odd_times);
  approval.expires_at = row.time(columns.expires, context.odd_times);
  context.remember(OldKind::approval, *id, insert_approval(context, approval));
  context.take("approvals");
}

std::optional<std::string> format(const std::optional<base::WallTime>& time) {
  return time ? std::optional(base::format_time(*time)) : std::nullopt;
}

}  // namespace

bool has_column(const ForeignTable& table, std::string_view name) {
  Columns columns(table);
  return columns.pick({name}).has_value();
}

const ForeignTable* find_approvals(const store::ForeignFile& file) {
  const ForeignTable* found = file.find("approvals");
  return found != nullptr ? found : file.find("approval");
}

std::int64_t insert_approval(ImportContext& context, const OldApproval& approval) {
  context.count_written();
  const bool was_pending = approval.status == ApprovalStatus::pending;
  const bool is_granted = approval.status == ApprovalStatus::approved;
  const base::WallTime decided =
      approval.decided_at.value_or(was_pending ? context.now() : approval.created_at.value_or(context.now()));
  const std::optional<std::int64_t> iteration = approval.node ? std::optional<std::int64_t>(0) : std::nullopt;
  // It was used there and cannot be used again.
  const model::ApprovalUse use = is_granted ? model::ApprovalUse::used : model::ApprovalUse::unused;
  return context.session().insert(
      Sql::import_approval, "approvals",
      {{"kind", approval.kind},
       {"run", approval.run},
       {"execution", approval.execution},
       {"node", approval.node},
       {"node_id", approval.node_id},
       {"iteration", iteration},
       {"tool_name", approval.tool_name},
       {"tool_ref", approval.old_id},
       {"arguments", approval.arguments ? std::optional(json::encode(*approval.arguments)) : std::nullopt},
       {"question", approval.question},
       {"options", json::encode(json::to_value(approval.options))},
       {"default_value", approval.default_value},
       {"status", was_pending ? ApprovalStatus::expired : approval.status},
       {"chosen_value", was_pending ? std::nullopt : approval.chosen_value},
       {"comment", approval.comment},
       {"decided_by", approval.decided_by},
       {"use", use},
       {"created_at", base::format_time(approval.created_at.value_or(decided))},
       {"decided_at", base::format_time(decided)},
       {"expires_at", format(approval.expires_at)},
       {"delivery", approval.delivery}});
}

void import_approvals(ImportContext& context) {
  const ForeignTable* table = find_approvals(context.file());
  if (table == nullptr || has_column(*table, "step_id")) return;
  Columns columns(*table);
  const ApprovalColumns picked(columns);
  context.note_unused(*table, columns);
  context.file().scan(*table, [&](const store::ForeignRow& row) { take_approval(context, picked, OldRow(row)); });
}

}  // namespace reeve::import
