#pragma once

#include <expected>
#include <string>
#include <vector>

#include "engine/execution.h"
#include "graph/graph.h"
#include "model/workflow.h"

// A failed execution continues with a corrected workflow (GRF-14). What has run stays as it is: nodes that completed,
// and the decisions about their edges. The rest may change, and nodes and edges may be added.
namespace reeve::engine {

struct Correction {
  // The corrected workflow, its nodes and edges in the order of the original, the new ones after them: their stored
  // states keep their positions.
  model::Workflow workflow;
  // Nodes that started but collect their inputs again, because what arrives there has changed.
  std::vector<graph::NodeIndex> fresh_inputs;
};

// `original` is the state with the original workflow. Otherwise says what cannot change; at least one, and not more
// than a person can read.
enum class Seeds { same, changed };
std::expected<Correction, std::vector<std::string>> correct(const ExecutionView& original,
                                                            const model::Workflow& corrected, Seeds seeds);

}  // namespace reeve::engine
