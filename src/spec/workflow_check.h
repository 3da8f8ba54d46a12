#pragma once

#include "model/workflow.h"
#include "spec/bind.h"
#include "spec/workflow_file.h"
#include "spec/yaml.h"

namespace reeve::spec {

// Checks of GRF-1 beyond keys and types: references and the shape of the graph. `workflow` may be incomplete; problems
// that the parser has reported are not reported again.
void check_workflow(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                    Binder& binder);

// The parts, one per file.
void check_names(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_node_configs(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                        Binder& binder);
void check_conditions(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_inputs(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
// Reports names in templates, and in the prompts of the config's roles, that cannot arrive at their node. Names that
// may or may not arrive fail the node when it starts; there is a warning if they look misspelt.
void check_template_names(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                          Binder& binder);
void check_shape(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_subgraphs(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                     Binder& binder);

// The node at this path, or its nearest existing ancestor, so that every problem has a location.
const YamlNode& find_place(const YamlNode& root, std::string_view list, std::size_t index,
                           std::initializer_list<std::string_view> keys);

}  // namespace reeve::spec
