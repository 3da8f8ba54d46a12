#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "import/context.h"
#include "model/workflow.h"

// Workflows of graph_workflows (S6), as far as Reeve can read them.
namespace reeve::import {

// A stored workflow, for looking up its nodes.
struct OldPlan {
  std::string hash;
  model::Workflow workflow;
  std::unordered_map<std::string, std::size_t> positions;
};
using SharedOldPlan = std::shared_ptr<const OldPlan>;

struct OldWorkflowColumns {
  explicit OldWorkflowColumns(Columns& columns);
  Column id, name, definition, version, created, updated;
};

// A workflow of nodes without edges.
model::Workflow make_loose_workflow(const std::string& id, const std::string& name,
                                    const std::vector<std::string>& nodes);
SharedOldPlan make_old_plan(ImportContext& context, model::Workflow workflow);
// Stores the workflow, without its edges if Reeve would not accept them. Null if it has no nodes.
SharedOldPlan take_old_workflow(ImportContext& context, const OldWorkflowColumns& columns, const OldRow& row);

}  // namespace reeve::import
