#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "graph/summary.h"
#include "model/describe.h"
#include "model/workflow_input.h"

namespace reeve::server {

// One of the project's files. In a file with errors, members that need a valid workflow are null.
struct WorkflowItem {
  // The file name without extension, by which the workflow can be started.
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

// Includes the analysis (GRF-15).
struct WorkflowRecord : graph::Summary {
  std::string workflow_id;
  std::string workflow_name;
  std::optional<std::string> description;
  std::string version;
  std::string content_hash;
  std::string entry_point;
  // The declared inputs (GRF-8); null if the workflow declares none and accepts any.
  std::optional<std::vector<model::WorkflowInput>> inputs;
  std::int64_t nodes = 0;
  std::int64_t edges = 0;
  // As it would be written in a file, without default values.
  base::Value definition;
};
BOOST_DESCRIBE_STRUCT(WorkflowRecord, (graph::Summary),
                      (workflow_id, workflow_name, description, version, content_hash, entry_point, inputs, nodes,
                       edges, definition))

}  // namespace reeve::server
