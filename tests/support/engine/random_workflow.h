#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "model/workflow.h"

namespace reeve::testing {

struct WorkflowWishes {
  // How deep blocks nest.
  int depth = 3;
  // Whether merges and parallel nodes may go on with the first of several, so that the order of work decides.
  bool allows_races = true;
  bool fail_fast = true;
  // Names of subgraphs that it may start.
  std::vector<std::string> subgraphs = {};
};

// A workflow of nested blocks: sequences, branches, parallel parts that merge, loops, questions. Always valid.
model::Workflow make_random_workflow(base::Random& random, const WorkflowWishes& wishes);

}  // namespace reeve::testing
