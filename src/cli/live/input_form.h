#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "cli/command.h"
#include "model/workflow_input.h"

// Asks at this terminal for the inputs that a workflow declares (GRF-8).
namespace reeve::cli {

// The inputs that a workflow file, or a workflow of the project by name, declares. Nothing if it declares none or
// cannot be read; the start reports that.
std::optional<std::vector<model::WorkflowInput>> find_declared_inputs(const Call& call, const std::string& file);

// If a required input is missing, asks for every declared input that is not in `inputs`, and adds the answers. Only
// where a person can answer (UX).
void ask_inputs(const Call& call, const std::vector<model::WorkflowInput>& declared, base::Value& inputs);

}  // namespace reeve::cli
