#include "import/workflow.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"
#include "json/encode.h"
#include "json/parse.h"
#include "spec/workflow_file.h"

namespace reeve::import {

namespace {

using base::Value;

// Only ids that are valid in a workflow file, so that none can pass for a pipeline.
std::string safe_id(std::string id) {
  std::ranges::replace_if(
      id,
      [](char c) { return !base::is_ascii_letter(c) && !base::is_ascii_digit(c) && c != '-' && c != '_' && c != '.'; },
      '-');
  return std::string(base::truncate_utf8(id, base::limits::name_bytes));
}

// Null members are dropped, because the old program wrote every member.
void drop_nulls(Value& value) {
  if (auto* list = value.as_array()) {
    for (Value& item : *list) drop_nulls(item);
  }
  auto* object = value.as_object();
  if (object == nullptr) return;
  std::erase_if(*object, [](const base::Member& member) { return member.value.is_null(); });
  for (base::Member& member : *object) drop_nulls(member.value);
}

// Parses the workflow; nothing, with a reason, if Reeve cannot accept it.
std::optional<model::Workflow> read_definition(Value definition, std::string& reason) {
  drop_nulls(definition);
  // On several lines, because the length of a line is limited.
  const auto source = std::make_shared<const spec::Source>("<definition>", json::encode_pretty(definition));
  auto parsed = spec::parse_workflow(source);
  if (parsed) return std::move(parsed->workflow);
  const auto& problems = parsed.error().list();
  reason = problems.empty() ? "it cannot be read" : problems.front().message;
  return std::nullopt;
}

const std::string* find_string(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  return found != nullptr ? found->as_string() : nullptr;
}

std::vector<std::string> list_nodes(const Value& definition) {
  std::vector<std::string> names;
  const Value* nodes = definition.find("nodes");
  const auto* list = nodes != nullptr ? nodes->as_array() : nullptr;
  if (list == nullptr) return names;
  for (const Value& node : *list) {
    const std::string* id = find_string(node, "id");
    const bool is_new =
        id != nullptr && !id->empty() && id->size() <= longest_old_id && std::ranges::find(names, *id) == names.end();
    // The search is linear, and a few nodes are enough for a workflow that is only displayed.
    constexpr std::size_t most = 1'000;
    if (is_new && names.size() < most) names.push_back(*id);
  }
  return names;
}

}  // namespace

OldWorkflowColumns::OldWorkflowColumns(Columns& columns)
    : id(columns.pick({"id"})),
      name(columns.pick({"name"})),
      definition(columns.pick({"definition"})),
      version(columns.pick({"version"})),
      created(columns.pick({"created_at"})),
      updated(columns.pick({"updated_at"})) {}

model::Workflow make_loose_workflow(const std::string& id, const std::string& name,
                                    const std::vector<std::string>& nodes) {
  model::Workflow workflow;
  workflow.id = safe_id(id);
  workflow.name = name;
  for (const std::string& node : nodes) workflow.nodes.push_back(make_task_node(node, std::nullopt));
  if (nodes.empty()) workflow.nodes.push_back(make_task_node("work", std::nullopt));
  workflow.entry_point = workflow.nodes.front().id;
  return workflow;
}

SharedOldPlan make_old_plan(ImportContext& context, model::Workflow workflow) {
  auto plan = std::make_shared<OldPlan>();
  plan->hash = store_workflow(context, workflow);
  for (std::size_t i = 0; i < workflow.nodes.size(); ++i) plan->positions.emplace(workflow.nodes[i].id, i);
  plan->workflow = std::move(workflow);
  return plan;
}

SharedOldPlan take_old_workflow(ImportContext& context, const OldWorkflowColumns& columns, const OldRow& row) {
  const std::string id = row.id(columns.id).value_or("workflow");
  const std::string name = row.name(columns.name).value_or(id);
  const auto text = row.text(columns.definition, base::limits::spec_file_bytes);
  auto parsed = json::parse(text.value_or(""), {.bytes = base::limits::spec_file_bytes});
  if (!parsed) return nullptr;
  std::string reason;
  if (auto workflow = read_definition(*parsed, reason)) return make_old_plan(context, std::move(*workflow));
  const auto nodes = list_nodes(*parsed);
  if (nodes.empty()) return nullptr;
  context.note(fmt::format("workflow {}: {}; imported without its edges", base::quoted(id), base::visible(reason)));
  return make_old_plan(context, make_loose_workflow(id, name, nodes));
}

}  // namespace reeve::import
