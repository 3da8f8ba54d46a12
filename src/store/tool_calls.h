#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/grant.h"
#include "model/tool_call.h"
#include "store/session.h"

namespace reeve::store {

// A tool call with the fields that its public record omits.
struct CallRow {
  model::ToolCall call;
  bool may_defer = false;
  bool is_hosted = false;
  // From here on the tool host may have run it.
  std::optional<base::WallTime> begun_at = {};
  // What the tool host returned, as JSON.
  std::optional<std::string> result = {};
  // The run of a hosted shell command.
  std::optional<base::RunId> child_run = {};
  // The attempt that received the answer.
  std::optional<int> taken_attempt = {};
};

CallRow read_call(const Row& row);
// The store assigns the id. `ordinal` counts the calls of the run.
base::CallId insert_call(Session& session, const CallRow& row, std::int64_t ordinal);

struct CallFilter {
  std::optional<base::RunId> run = {};
  // The path of a project; not combined with `run`.
  std::optional<std::string> project = {};
  // Only calls older than this one.
  std::optional<base::CallId> before = {};
  // Only calls newer than this one, oldest first.
  std::optional<base::CallId> after = {};
  std::int64_t most = 50;
};
// Newest first, unless `after` is set.
std::vector<model::ToolCall> list_calls(Session& session, const CallFilter& filter);
std::optional<CallRow> find_call(Session& session, base::CallId id);
// The run's call with this id, which is Reeve's (TC-7) or the agent's own; of several with its own id, the newest.
std::optional<base::CallId> find_call_named(Session& session, base::RunId run, const std::string& name);

struct GrantFilter {
  bool with_ended = false;
  std::optional<std::string> project = {};
  std::optional<base::GrantId> before = {};
  std::int64_t most = 50;
};
std::vector<model::Grant> list_grants(Session& session, const GrantFilter& filter, base::WallTime now);
std::optional<model::Grant> find_grant(Session& session, base::GrantId id);
model::Grant read_grant(const Row& row);
// The store assigns the id.
base::GrantId insert_grant(Session& session, const model::Grant& grant);

}  // namespace reeve::store
