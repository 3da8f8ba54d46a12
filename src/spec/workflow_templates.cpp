#include <algorithm>
#include <optional>
#include <set>

#include "graph/analysis.h"
#include "graph/graph.h"
#include "graph/name_search.h"
#include "model/agent.h"
#include "model/template.h"
#include "spec/workflow_check.h"

// The names that templates and the prompts of roles use (GRF-8).
namespace reeve::spec {

namespace {

using base::ErrorCode;

// A letter too many, missing or wrong, or two that changed places. In short words a wrong letter is another word.
bool is_misspelt(std::string_view name, std::string_view meant) {
  constexpr std::size_t shortest = 4;
  if (name.size() < shortest || name == meant) return false;
  const auto [left, right] = std::ranges::mismatch(name, meant);
  const std::string_view rest(left, name.end());
  const std::string_view expected(right, meant.end());
  if (name.size() != meant.size()) {
    return name.size() > shortest &&
           (rest.substr(rest.empty() ? 0 : 1) == expected || rest == expected.substr(expected.empty() ? 0 : 1));
  }
  const bool is_swapped = rest.size() > 1 && rest[0] == expected[1] && rest[1] == expected[0];
  if (is_swapped) return rest.substr(2) == expected.substr(2);
  return name.size() > shortest && rest.substr(1) == expected.substr(1);
}

// Where a name in braces stands.
struct TemplatePlace {
  graph::NodeIndex node = 0;
  const YamlNode& yaml;
  // Of a prompt in the config.
  std::optional<std::string> role = {};
};

class NameCheck {
 public:
  NameCheck(const model::Workflow& workflow, const YamlNode& root, const model::Config* config, Binder& binder)
      : graph_(workflow), search_(graph_), root_(root), config_(config), binder_(binder) {
    for (const model::Node& node : workflow.nodes) ids_.push_back(node.id);
  }

  void check() {
    const auto entry = graph_.find(graph_.workflow().entry_point);
    if (!entry) return;
    const std::vector<bool> reachable = graph::find_reachable(graph_, *entry);
    for (graph::NodeIndex node = 0; node < graph_.node_count(); ++node) {
      const auto& task = graph_.node(node).task_config;
      // A `noop` task has no use for its template.
      if (!task || task->role == model::noop_role || !reachable[node] || binder_.problems().is_full()) continue;
      check_text(task->task_template,
                 {.node = node, .yaml = find_place(root_, "nodes", node, {"task_config", "task_template"})});
      if (config_ == nullptr) continue;
      const auto role = config_->roles.find(task->role);
      if (role == config_->roles.end()) continue;
      check_text(role->second.prompt,
                 {.node = node, .yaml = find_place(root_, "nodes", node, {"task_config", "role"}), .role = task->role});
    }
  }

 private:
  void check_text(const std::string& text, const TemplatePlace& place) {
    // An invalid template was reported.
    const auto pieces = model::parse_template(text);
    std::set<std::string> seen;
    for (std::size_t i = 0; pieces && i < pieces->size(); ++i) {
      const model::TemplatePiece& piece = (*pieces)[i];
      if (piece.kind == model::TemplatePiece::Kind::name && seen.insert(piece.text).second) {
        check_name(place, piece.text);
      }
    }
  }

  void check_name(const TemplatePlace& place, const std::string& name) {
    using Optional = graph::NameSearch::Optional;
    const model::TaskConfig& task = *graph_.node(place.node).task_config;
    const bool is_own = name == "input" || (name == "target_files" && !task.target_files.empty()) ||
                        (name == "extra_context" && task.extra_context);
    if (is_own) return;
    if (search_.can_arrive(place.node, name, Optional::ignored)) return check_spelling(place, name);
    if (search_.can_arrive(place.node, name)) {
      binder_.warn(place.yaml, ErrorCode::flow_optional_name,
                   fmt::format("`{{{}}}`{} fails the node when that input is not given", name, owner(place)),
                   place.role
                       ? "give the input a default"
                       : "give the input a default, or show it with `context:`, which leaves out what is missing");
      return;
    }
    constexpr std::size_t max_shown = 24;
    const std::vector<std::string> known = list_known(place.node);
    base::Problem& problem =
        binder_.report(place.yaml, ErrorCode::flow_unknown_name,
                       fmt::format("unknown name in braces {}{}", base::quoted(name), owner(place)),
                       "a template can use the inputs of its node: `inputs:` of the workflow, outputs of the nodes "
                       "before it, and what `data_mapping` renames");
    if (const auto meant = suggest(name, known)) problem.hint = fmt::format("did you mean `{{{}}}`?", *meant);
    if (known.size() <= max_shown) problem.allowed = base::join(known, ", ");
  }

  static std::string owner(const TemplatePlace& place) {
    return place.role ? fmt::format(" of the prompt of the role {}", base::quoted(*place.role)) : std::string();
  }

  // A task may report anything, so that this name may arrive; but nothing in the file says so, and it looks like one of
  // the names that the file has.
  void check_spelling(const TemplatePlace& place, const std::string& name) {
    const auto meant = find_misspelt(place.node, name);
    if (!meant) return;
    base::Problem& problem = binder_.warn(
        place.yaml, ErrorCode::flow_unknown_name,
        fmt::format("no node is known to provide the name in braces {}{}", base::quoted(name), owner(place)),
        "correct it; if a task reports it under this name, nothing needs to be done");
    problem.hint = fmt::format("did you mean `{{{}}}`?", *meant);
  }

  std::optional<std::string> find_misspelt(graph::NodeIndex node, const std::string& name) {
    const auto among = [](std::string_view word, const std::vector<std::string>& known) -> std::optional<std::string> {
      if (std::ranges::find(known, word) != known.end()) return std::nullopt;
      const auto found = std::ranges::find_if(known, [&](const auto& one) { return is_misspelt(word, one); });
      return found != known.end() ? std::optional(*found) : std::nullopt;
    };
    // Bounds the work for a large file; a warning may be missing then.
    if (spellings_left_ == 0) return std::nullopt;
    --spellings_left_;
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return among(name, list_known(node));
    const std::string first = name.substr(0, dot);
    const std::string field = name.substr(dot + 1);
    if (const auto source = graph_.find(first)) {
      const auto meant = among(field, search_.list_own(*source));
      return meant ? std::optional(first + "." + *meant) : std::nullopt;
    }
    // A name that arrives as an object.
    const std::vector<std::string> known = list_known(node);
    if (std::ranges::find(known, first) != known.end()) return std::nullopt;
    const auto meant = among(first, ids_);
    return meant ? std::optional(*meant + "." + field) : std::nullopt;
  }

  std::vector<std::string> list_known(graph::NodeIndex node) {
    constexpr std::size_t max_listed = 500;
    std::vector<std::string> known = search_.list(node, max_listed);
    known.emplace_back("input");
    return known;
  }

  // Of `node.field`, the field is compared.
  std::optional<std::string> suggest(const std::string& name, const std::vector<std::string>& known) {
    const std::size_t dot = name.find('.');
    const bool has_node = dot != std::string::npos && graph_.find(std::string_view(name).substr(0, dot)).has_value();
    if (!has_node) return binder_.suggest(name, known);
    const auto field = binder_.suggest(name.substr(dot + 1), known);
    return field ? std::optional(name.substr(0, dot + 1) + *field) : std::nullopt;
  }

  graph::Graph graph_;
  graph::NameSearch search_;
  const YamlNode& root_;
  const model::Config* config_;
  Binder& binder_;
  std::vector<std::string> ids_;
  std::size_t spellings_left_ = 200;
};

// An edge whose ends are not known delivers unknown names.
bool has_loose_edges(const model::Workflow& workflow) {
  const graph::Graph graph(workflow);
  for (graph::EdgeIndex edge = 0; edge < workflow.edges.size(); ++edge) {
    if (!graph.is_connected(edge)) return true;
  }
  return false;
}

// A block that was not read completely says nothing about names.
bool is_complete(const model::Node& node) {
  switch (node.type) {
    case model::NodeType::task:
      return node.task_config.has_value();
    case model::NodeType::subgraph:
      return node.subgraph_config.has_value();
    default:
      return true;
  }
}

}  // namespace

void check_template_names(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                          Binder& binder) {
  // What arrives is known only for a sound graph. Declared inputs that could not be read count as unknown.
  const bool was_declared = root.find("inputs") != nullptr && !root.find("inputs")->is_null();
  if (was_declared && !workflow.inputs) return;
  if (has_loose_edges(workflow) || !std::ranges::all_of(workflow.nodes, is_complete)) return;
  NameCheck(workflow, root, context.config, binder).check();
}

}  // namespace reeve::spec
