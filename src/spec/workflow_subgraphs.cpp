#include <algorithm>
#include <set>

#include "spec/workflow_check.h"

// Subgraphs: existing, valid, not recursive, not too deep, given the inputs that they declare (GRF-1, GRF-8, GRF-11).
namespace reeve::spec {

namespace {

using base::ErrorCode;

class SubgraphCheck {
 public:
  SubgraphCheck(const WorkflowCatalog& catalog, Binder& binder) : catalog_(catalog), binder_(binder) {}

  void check(const YamlNode& place, const std::string& root_id, const std::string& name) {
    const WorkflowCatalog::Entry* entry = catalog_.find(name);
    if (entry == nullptr) {
      binder_.report_unknown(place, ErrorCode::flow_unknown_subgraph, "workflow", name, catalog_.names()).fix =
          "put the workflow in `.reeve/workflows/` or next to this file; it is found by id, name or file name";
      return;
    }
    if (entry->errors > 0) {
      binder_.report(place, ErrorCode::flow_broken_subgraph,
                     fmt::format("the workflow {} in {} has {} error{}", base::quoted(name), base::quoted(entry->file),
                                 entry->errors, entry->errors == 1 ? "" : "s"),
                     fmt::format("reeve flow validate {}", entry->file));
      return;
    }
    way_ = {root_id};
    told_ = false;
    passed_.clear();
    descend(place, *entry);
  }

 private:
  void descend(const YamlNode& place, const WorkflowCatalog::Entry& entry) {
    const std::string& id = entry.workflow.id;
    const bool is_recursive = std::ranges::find(way_, id) != way_.end();
    way_.push_back(id);
    if (is_recursive) {
      tell(place, ErrorCode::flow_subgraph_recursion,
           fmt::format("the workflow contains itself: {}", base::join(way_, " → ")), "remove one of these subgraphs");
    } else if (way_.size() > base::limits::subgraph_depth + 1) {
      tell(place, ErrorCode::flow_subgraph_too_deep,
           fmt::format("subgraphs are nested more than {} deep: {}", base::limits::subgraph_depth,
                       base::join(way_, " → ")),
           "flatten some of them");
    } else if (std::ranges::find(passed_, Passed{&entry, way_.size()}) == passed_.end()) {
      for (const model::Node& node : entry.workflow.nodes) {
        if (told_ || !node.subgraph_config) continue;
        const std::string& name = node.subgraph_config->workflow_name;
        const auto* inner = catalog_.find(name);
        if (inner == nullptr || inner->errors > 0) {
          tell(place, ErrorCode::flow_broken_subgraph,
               fmt::format("{} refers to the workflow {}, which {}", base::join(way_, " → "), base::quoted(name),
                           inner == nullptr ? "does not exist" : "has errors"),
               fmt::format("reeve flow validate {}", inner == nullptr ? entry.file : inner->file));
        } else {
          descend(place, *inner);
        }
      }
      // A workflow that passed at this depth passes again, so that one used in many places is walked once per depth.
      passed_.push_back({&entry, way_.size()});
    }
    way_.pop_back();
  }

  void tell(const YamlNode& place, base::ErrorCode code, std::string message, std::string fix) {
    told_ = true;
    binder_.report(place, code, std::move(message), std::move(fix));
  }

  struct Passed {
    const WorkflowCatalog::Entry* entry;
    std::size_t depth;
    friend bool operator==(const Passed&, const Passed&) = default;
  };

  const WorkflowCatalog& catalog_;
  Binder& binder_;
  std::vector<std::string> way_;
  std::vector<Passed> passed_;
  bool told_ = false;
};

// The child's `inputs:` against the node's `input_mapping`. Without a mapping, the child receives the node's inputs, of
// which it keeps the declared ones; whether those arrive is checked when the node starts.
void check_child_inputs(const YamlNode& block, const model::SubgraphConfig& subgraph, const model::Workflow& child,
                        Binder& binder) {
  const YamlNode* mapping = block.find("input_mapping");
  if (!child.inputs || mapping == nullptr || mapping->kind != YamlKind::mapping) return;
  if (subgraph.input_mapping.empty()) return;
  std::vector<std::string> names;
  for (const model::WorkflowInput& input : *child.inputs) names.push_back(input.name);
  std::set<std::string> meant;
  for (const auto& [target, _] : subgraph.input_mapping) {
    if (std::ranges::find(names, target) == names.end()) meant.insert(binder.suggest(target, names).value_or(""));
  }
  for (const model::WorkflowInput& input : *child.inputs) {
    const bool is_mapped = subgraph.input_mapping.contains(input.name) || meant.contains(input.name);
    if (!model::is_required(input) || is_mapped) continue;
    binder.report(*block.find_key("input_mapping"), ErrorCode::flow_missing_input,
                  fmt::format("{} requires the input {}, which is not mapped", base::quoted(subgraph.workflow_name),
                              base::quoted(input.name)),
                  fmt::format("add `{}: …` to `input_mapping`", input.name));
  }
  for (std::size_t i = 0; i < mapping->member_count(); ++i) {
    const YamlNode& target = mapping->key(i);
    if (std::ranges::find(names, target.text) != names.end()) continue;
    binder.report_unknown(target, ErrorCode::flow_unknown_input,
                          fmt::format("input of {}:", base::quoted(subgraph.workflow_name)), target.text, names);
  }
}

}  // namespace

void check_subgraphs(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                     Binder& binder) {
  if (!context.catalog) return;
  for (std::size_t i = 0; i < workflow.nodes.size(); ++i) {
    const auto& subgraph = workflow.nodes[i].subgraph_config;
    if (!subgraph || subgraph->workflow_name.empty()) continue;
    SubgraphCheck(context.catalog(), binder)
        .check(find_place(root, "nodes", i, {"subgraph_config", "workflow_name"}), workflow.id,
               subgraph->workflow_name);
    const WorkflowCatalog::Entry* child = context.catalog().find(subgraph->workflow_name);
    if (child == nullptr || child->errors > 0) continue;
    check_child_inputs(find_place(root, "nodes", i, {"subgraph_config"}), *subgraph, child->workflow, binder);
  }
}

}  // namespace reeve::spec
