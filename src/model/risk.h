#pragma once

#include "model/describe.h"

// How dangerous it is to approve something (APR-3); the confirmation that a client asks for depends on it.
namespace reeve::model {

enum class Risk { low, medium, high };
REEVE_DESCRIBE_ENUM(Risk, low, medium, high)

// The risk of each rule (config: `risk`). The highest of the rules that apply decides.
struct RiskLevels {
  Risk git_push = Risk::high;
  Risk file_delete = Risk::high;
  // Changes to `.reeve/`, to the configuration of an agent, of CI, of a deployment.
  Risk reeve_files = Risk::high;
  Risk agent_config = Risk::high;
  Risk ci_files = Risk::high;
  Risk deploy_files = Risk::high;
  // A file whose name suggests that it contains secrets.
  Risk secrets = Risk::high;
  Risk shell_without_sandbox = Risk::high;
  // The question of a tool, a prompt on its terminal, a tool call.
  Risk question = Risk::medium;
  Risk prompt = Risk::medium;
  Risk tool_call = Risk::medium;
  // A tool call that only reads, inside the worktree and outside files with secrets.
  Risk reading = Risk::low;
  // A question about changes, or about a workflow that may have made some; a workflow's question without any.
  Risk changes = Risk::medium;
  Risk workflow_question = Risk::low;
  friend bool operator==(const RiskLevels&, const RiskLevels&) = default;
};
BOOST_DESCRIBE_STRUCT(RiskLevels, (),
                      (git_push, file_delete, reeve_files, agent_config, ci_files, deploy_files, secrets,
                       shell_without_sandbox, question, prompt, tool_call, reading, changes, workflow_question))

}  // namespace reeve::model
