#pragma once

#include "model/workflow.h"
#include "spec/bind.h"
#include "spec/workflow_file.h"
#include "spec/yaml.h"

namespace reeve::spec {

// GRF-1 beyond keys and types: what names what, and the shape of the graph. `workflow` may be incomplete; what its
// reading told already is not told again.
void check_workflow(const model::Workflow& workflow, const YamlNode& root, const WorkflowSurroundings& surroundings,
                    Binder& binder);

// The parts, one file each.
void check_names(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_node_configs(const model::Workflow& workflow, const YamlNode& root, const WorkflowSurroundings& surroundings,
                        Binder& binder);
void check_conditions(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_shape(const model::Workflow& workflow, const YamlNode& root, Binder& binder);
void check_subgraphs(const model::Workflow& workflow, const YamlNode& root, const WorkflowSurroundings& surroundings,
                     Binder& binder);

// Where the value at this path stands; the nearest thing around it that exists, so that there always is a place.
const YamlNode& find_place(const YamlNode& root, std::string_view list, std::size_t index,
                           std::initializer_list<std::string_view> keys);

}  // namespace reeve::spec
