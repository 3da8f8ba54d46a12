#include "model/policy.h"

namespace reeve::model {

const std::map<std::string, Policy, std::less<>>& default_policies() {
  using enum Policy;
  static const std::map<std::string, Policy, std::less<>> policies = {
      {"file_read", auto_approve},
      {"list_directory", auto_approve},
      {"search_files", auto_approve},
      {"git_diff", auto_approve},
      {"git_log", auto_approve},
      {"git_blame", auto_approve},
      {"task_status", auto_approve},
      {"file_write", require_approval},
      {"shell_execute", require_approval},
      {"git_add", require_approval},
      {"git_commit", require_approval},
      {"git_push", require_approval},
      {"task_assign", require_approval},
      {"agent_spawn", require_approval},
      {"agent_stop", require_approval},
      {"delete", deny},
      {"file_delete", deny},
      {"force_push", deny},
  };
  return policies;
}

const std::map<std::string, std::map<std::string, Policy, std::less<>>, std::less<>>& default_role_policies() {
  static const std::map<std::string, std::map<std::string, Policy, std::less<>>, std::less<>> policies = {
      {"mayor", {{"git_commit", Policy::auto_approve}}},
      {"deacon", {{"task_assign", Policy::auto_approve}}},
      {"witness", {{"file_write", Policy::deny}}},
  };
  return policies;
}

}  // namespace reeve::model
