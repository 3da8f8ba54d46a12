#include "server/resources/contract.h"

namespace reeve::server {

namespace {

Contract make_contract() {
  Contract made;
  for (const auto make : {run_operations,      output_operations,       terminal_operations,
                          approval_operations, execution_operations,    execution_view_operations,
                          pipeline_operations, patch_operations,        project_operations,
                          task_operations,     workflow_operations,     tool_operations,
                          role_operations,     gate_operations,         config_operations,
                          policy_operations,   audit_operations,        event_operations,
                          health_operations,   monitor_operations,      doctor_operations,
                          import_operations,   openapi_operations,      token_operations,
                          web_operations,      notify_operations,       prune_operations,
                          backup_operations,   stdin_operations,        execution_output_operations,
                          failure_operations,  state_move_operations,   tool_call_operations,
                          grant_operations,    question_operations,     progress_operations,
                          mcp_operations,      agent_session_operations}) {
    for (Operation& operation : make(made.schemas)) {
      // Unknown members are rejected (check_body).
      if (!operation.body.is_null()) operation.body = made.schemas.closed(operation.body);
      made.operations.push_back(std::move(operation));
    }
  }
  return made;
}

}  // namespace

const Contract& contract() {
  static const Contract made = make_contract();
  return made;
}

}  // namespace reeve::server
