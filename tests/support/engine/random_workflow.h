#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "model/workflow.h"

namespace reeve::testing {

struct WorkflowShape {
  // How deep blocks nest.
  int depth = 3;
  // Whether merges and parallel nodes may continue with the first of several, so that timing decides.
  bool allows_races = true;
  bool fail_fast = true;
  // Names of subgraphs that it may use.
  std::vector<std::string> subgraphs = {};
};

// A workflow of nested blocks: sequences, branches, parallel parts with merges, loops, questions. Always valid.
model::Workflow make_random_workflow(base::Random& random, const WorkflowShape& options);

}  // namespace reeve::testing
