#include "spec/workflow_file.h"

#include <algorithm>
#include <unordered_set>

#include "base/hash.h"
#include "json/describe.h"
#include "json/encode.h"
#include "spec/bind.h"
#include "spec/workflow_check.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;

// Events, loop counters and drawings name an edge by its id. Pairs are unique, but an explicit id may have the same
// text.
void name_edges(model::Workflow& workflow) {
  std::unordered_set<std::string> taken;
  for (const model::Edge& edge : workflow.edges) taken.insert(edge.id);
  for (model::Edge& edge : workflow.edges) {
    if (!edge.id.empty()) continue;
    const std::string plain = fmt::format("{}-to-{}", edge.source, edge.target);
    edge.id = plain;
    for (std::size_t i = 2; !taken.insert(edge.id).second; ++i) edge.id = fmt::format("{}-{}", plain, i);
  }
}

// Makes an omitted value and its explicit default the same content.
void normalise(model::Workflow& workflow) {
  name_edges(workflow);
  for (model::Node& node : workflow.nodes) {
    if (node.type == model::NodeType::merge && !node.merge_config) node.merge_config.emplace();
    if (node.task_config && node.task_config->retry == model::Retry{}) node.task_config->retry.reset();
    if (node.task_config && node.task_config->extra_context == base::Value::object()) {
      node.task_config->extra_context.reset();
    }
    if (!node.human_config) continue;
    // An option without a label shows its value.
    for (model::ApprovalOption& option : node.human_config->options) {
      if (option.label.empty()) option.label = option.value;
    }
  }
}

bool check_size(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  namespace limits = base::limits;
  const auto check = [&](std::string_view key, std::size_t count, std::size_t most) {
    if (count <= most) return true;
    binder.report(*root.find_key(key), ErrorCode::flow_too_large,
                  fmt::format("{} {}; at most {} are allowed", count, key, most), "split the workflow into subgraphs");
    return false;
  };
  const auto loops = std::ranges::count_if(workflow.edges, &model::Edge::is_loop_edge);
  if (static_cast<std::size_t>(loops) > limits::workflow_loops) {
    binder.report(*root.find_key("edges"), ErrorCode::flow_too_large,
                  fmt::format("{} loop edges; at most {} are allowed", loops, limits::workflow_loops),
                  "split the workflow into subgraphs");
    return false;
  }
  const bool nodes_fit = check("nodes", workflow.nodes.size(), limits::workflow_nodes);
  return check("edges", workflow.edges.size(), limits::workflow_edges) && nodes_fit;
}

}  // namespace

void WorkflowCatalog::add(std::string stem, std::shared_ptr<const Source> source) {
  base::Problems problems;
  Entry entry{.file = source->name(), .stem = std::move(stem), .workflow = {}, .source = source};
  if (const auto document = parse_yaml(std::move(source), problems)) {
    if (document->root.find("nodes") == nullptr) return;
    Binder binder(flow_codes, problems);
    binder.bind(document->root, entry.workflow);
    // Checks everything except its own subgraphs, which the caller walks, and the roles and gates of a project.
    if (check_size(entry.workflow, document->root, binder)) check_workflow(entry.workflow, document->root, {}, binder);
  }
  entry.errors = problems.errors();
  entries_.push_back(std::move(entry));
}

const WorkflowCatalog::Entry* WorkflowCatalog::find(std::string_view name) const {
  const auto by = [&](auto key) {
    const auto found = std::ranges::find(entries_, name, key);
    return found != entries_.end() ? &*found : nullptr;
  };
  if (const Entry* entry = by([](const Entry& e) -> std::string_view { return e.workflow.id; })) return entry;
  if (const Entry* entry = by([](const Entry& e) -> std::string_view { return e.workflow.name; })) return entry;
  return by([](const Entry& e) -> std::string_view { return e.stem; });
}

std::vector<std::string> WorkflowCatalog::names() const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) names.push_back(entry.workflow.id.empty() ? entry.stem : entry.workflow.id);
  return names;
}

base::Result<WorkflowFile> parse_workflow(std::shared_ptr<const Source> source, const WorkflowContext& context) {
  base::Problems problems;
  const auto document = parse_yaml(std::move(source), problems);
  if (!document) return std::unexpected(std::move(problems));
  WorkflowFile file;
  Binder binder(flow_codes, problems);
  if (document->root.kind != YamlKind::mapping) {
    binder.report_wrong(document->root, "a workflow (a mapping with `id`, `name`, `nodes`, `edges`, `entry_point`)");
    return std::unexpected(std::move(problems));
  }
  binder.bind(document->root, file.workflow);
  if (check_size(file.workflow, document->root, binder)) {
    check_workflow(file.workflow, document->root, context, binder);
  }
  problems.sort();
  if (problems.has_errors()) return std::unexpected(std::move(problems));
  normalise(file.workflow);
  file.content_hash = hash_content(file.workflow);
  file.warnings = std::move(problems);
  return file;
}

std::string hash_content(const model::Workflow& workflow) {
  return "sha256:" + base::sha256_hex(json::encode_canonical(json::to_value(workflow, json::Defaults::omit)));
}

}  // namespace reeve::spec
