#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "model/workflow.h"
#include "server/import_context.h"

// Workflows of graph_workflows (S6), as far as Reeve can read them.
namespace reeve::server {

// What is at hand of a stored workflow.
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

// Names of nodes without what is between them.
model::Workflow make_loose_workflow(const std::string& id, const std::string& name,
                                    const std::vector<std::string>& nodes);
SharedOldPlan make_old_plan(ImportContext& context, model::Workflow workflow);
// Stores it whole, or without its edges when Reeve would not take it. Nothing when it has no nodes.
SharedOldPlan take_old_workflow(ImportContext& context, const OldWorkflowColumns& columns, const OldRow& row);

}  // namespace reeve::server
