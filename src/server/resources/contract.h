#pragma once

#include "server/contract/operations.h"

// The daemon's API: the operations of all resources.
namespace reeve::server {

const Contract& contract();

// OpenAPI 3.1.
base::Value openapi_document();

// Each in the file of its handlers.
std::vector<Operation> run_operations(json::Schemas& schemas);
std::vector<Operation> output_operations(json::Schemas& schemas);
std::vector<Operation> execution_output_operations(json::Schemas& schemas);
std::vector<Operation> failure_operations(json::Schemas& schemas);
std::vector<Operation> terminal_operations(json::Schemas& schemas);
std::vector<Operation> stdin_operations(json::Schemas& schemas);
std::vector<Operation> approval_operations(json::Schemas& schemas);
std::vector<Operation> question_operations(json::Schemas& schemas);
std::vector<Operation> progress_operations(json::Schemas& schemas);
std::vector<Operation> mcp_operations(json::Schemas& schemas);
std::vector<Operation> tool_call_operations(json::Schemas& schemas);
std::vector<Operation> agent_session_operations(json::Schemas& schemas);
std::vector<Operation> grant_operations(json::Schemas& schemas);
std::vector<Operation> execution_operations(json::Schemas& schemas);
std::vector<Operation> execution_view_operations(json::Schemas& schemas);
// Parts of execution_operations().
std::vector<Operation> execution_retry_operations(json::Schemas& schemas);
std::vector<Operation> execution_change_operations(json::Schemas& schemas);
std::vector<Operation> pipeline_operations(json::Schemas& schemas);
std::vector<Operation> patch_operations(json::Schemas& schemas);
std::vector<Operation> project_operations(json::Schemas& schemas);
std::vector<Operation> task_operations(json::Schemas& schemas);
std::vector<Operation> workflow_operations(json::Schemas& schemas);
std::vector<Operation> tool_operations(json::Schemas& schemas);
std::vector<Operation> role_operations(json::Schemas& schemas);
std::vector<Operation> gate_operations(json::Schemas& schemas);
std::vector<Operation> config_operations(json::Schemas& schemas);
std::vector<Operation> policy_operations(json::Schemas& schemas);
std::vector<Operation> audit_operations(json::Schemas& schemas);
std::vector<Operation> event_operations(json::Schemas& schemas);
std::vector<Operation> health_operations(json::Schemas& schemas);
std::vector<Operation> monitor_operations(json::Schemas& schemas);
std::vector<Operation> doctor_operations(json::Schemas& schemas);
std::vector<Operation> import_operations(json::Schemas& schemas);
std::vector<Operation> state_move_operations(json::Schemas& schemas);
std::vector<Operation> openapi_operations(json::Schemas& schemas);
std::vector<Operation> token_operations(json::Schemas& schemas);
std::vector<Operation> web_operations(json::Schemas& schemas);
std::vector<Operation> notify_operations(json::Schemas& schemas);
std::vector<Operation> prune_operations(json::Schemas& schemas);
std::vector<Operation> backup_operations(json::Schemas& schemas);

}  // namespace reeve::server
