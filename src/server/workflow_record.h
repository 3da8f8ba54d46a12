#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/summary.h"
#include "server/api.h"
#include "spec/workflow_file.h"
#include "store/executions.h"

// A workflow as the API tells it.
namespace reeve::server {

// One of the project's files. What only a sound one has is null in one with errors.
struct WorkflowItem {
  // Of the file, without its ending: what it can be started by.
  std::string name;
  std::string file;
  std::optional<std::string> workflow_id;
  std::optional<std::string> workflow_name;
  std::optional<std::string> version;
  std::optional<std::string> content_hash;
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
};
BOOST_DESCRIBE_STRUCT(WorkflowItem, (),
                      (name, file, workflow_id, workflow_name, version, content_hash, errors, warnings))

// With what analysis says of it (GRF-15).
struct WorkflowRecord : graph::Summary {
  std::string workflow_id;
  std::string workflow_name;
  std::optional<std::string> description;
  std::string version;
  std::string content_hash;
  std::string entry_point;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  // As it would be written in a file, without what is at its default.
  base::Value definition;
};
BOOST_DESCRIBE_STRUCT(WorkflowRecord, (graph::Summary),
                      (workflow_id, workflow_name, description, version, content_hash, entry_point, nodes, edges,
                       definition))

WorkflowRecord make_workflow_record(const model::Workflow& workflow, const std::string& content_hash);
// Throws `store.damaged` for what cannot be read.
model::Workflow decode_workflow(const store::StoredWorkflow& stored);

// A drawing in the format that the query asks for: `format`, `columns`, `ascii`. With the marks of an execution, if it
// is one. Throws `api.bad_request`.
void send_drawing(const SharedExchange& exchange, const model::Workflow& workflow,
                  const std::vector<model::NodeExecution>& nodes = {});
// Before anything is looked up: throws for a format that there is not.
void check_drawing(const Exchange& exchange);

}  // namespace reeve::server
