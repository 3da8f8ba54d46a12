#include "engine/subgraph.h"

#include <fmt/format.h>

#include "base/text.h"
#include "engine/inputs.h"

namespace reeve::engine {

ExecutionEvent conclude_child(const CompiledWorkflow& parent, graph::NodeIndex node, const CompiledWorkflow& child,
                              const ChildEnd& end) {
  const model::SubgraphConfig& config = *parent.graph().node(node).subgraph_config;
  if (end.status != model::ExecutionStatus::completed) {
    const std::string name = base::quoted(config.workflow_name);
    const bool has_reason = end.reason && !end.reason->empty();
    // The reason of the innermost failure comes first.
    const std::string text = has_reason ? fmt::format("{}, in workflow {}", *end.reason, name)
                                        : fmt::format("{} {}", name, base::spell(end.status));
    return NodeFailed{node, model::RetryOn::failed, text};
  }
  base::Value outputs = base::Value::object();
  for (const auto& [exit, value] : end.exits) {
    if (value.as_object() != nullptr) {
      outputs = with_fields(std::move(outputs), value);
    } else if (!value.is_null()) {
      base::Value under_its_name = base::Value::object();
      under_its_name.set(child.graph().node(exit).id, value);
      outputs = with_fields(std::move(outputs), under_its_name);
    }
  }
  return NodeFinished{node, map_fields(outputs, config.output_mapping)};
}

}  // namespace reeve::engine
