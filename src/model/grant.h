#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"
#include "model/project_ref.h"

// Standing grants: rules that a person made from an approval (TOOL-8).
namespace reeve::model {

enum class GrantScope { run, execution, project };
REEVE_DESCRIBE_ENUM(GrantScope, run, execution, project)

// `exact`: the same tool, arguments and folder; `program`: a program with its subcommand, with any further arguments;
// `path`: the same tool on paths that match a pattern.
enum class GrantMatch { exact, program, path };
REEVE_DESCRIBE_ENUM(GrantMatch, exact, program, path)

struct Grant {
  base::GrantId grant_id{0};
  GrantScope scope = GrantScope::run;
  std::optional<ProjectRef> project;
  // The run or execution that it is limited to.
  std::optional<base::RunId> tool_run_id;
  std::optional<base::ExecutionId> execution_id;
  // The profile whose calls it covers.
  std::string agent;
  std::string tool;
  GrantMatch match = GrantMatch::exact;
  // For `exact`: ToolCall::arguments_digest.
  std::optional<std::string> digest;
  // For `program`: its absolute path with symlinks resolved, then the subcommand if the program has any.
  std::vector<std::string> program;
  // For `path`: relative to the worktree.
  std::optional<std::string> path;
  // The extent in words: "git status in any folder of the worktree".
  std::string describes;
  // The approval that it was made from.
  base::ApprovalId approval_id{0};
  std::string created_by;
  base::WallTime created_at;
  base::WallTime expires_at;
  std::optional<std::string> revoked_by;
  std::optional<base::WallTime> revoked_at;
  std::int64_t uses = 0;
  std::optional<base::WallTime> last_used_at;
  friend bool operator==(const Grant&, const Grant&) = default;
};
BOOST_DESCRIBE_STRUCT(Grant, (),
                      (grant_id, scope, project, tool_run_id, execution_id, agent, tool, match, digest, program, path,
                       describes, approval_id, created_by, created_at, expires_at, revoked_by, revoked_at, uses,
                       last_used_at))

inline constexpr base::Milliseconds default_grant_time = std::chrono::hours(8);

}  // namespace reeve::model
