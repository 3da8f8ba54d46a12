#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/contract/operations.h"
#include "server/request/exchange.h"
#include "server/resources/workflow_record.h"
#include "spec/workflow_file.h"
#include "store/executions.h"

// A workflow as the API returns it.
namespace reeve::server {

WorkflowRecord make_workflow_record(const model::Workflow& workflow, const std::string& content_hash);

// Sends a drawing as the query asks (`format`, `columns`, `ascii`), with node states if it is of an execution. Throws
// `api.bad_request`.
void send_drawing(const SharedExchange& exchange, const model::Workflow& workflow,
                  const std::vector<model::NodeExecution>& nodes = {});
// Throws for an unknown format, before anything is loaded.
void check_drawing(const Exchange& exchange);
std::vector<Parameter> drawing_parameters();
std::vector<Reply> drawing_replies();

}  // namespace reeve::server
