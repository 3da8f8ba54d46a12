#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/daemon.h"
#include "model/tool_call.h"

// Requests about tool calls.
namespace reeve::client {

struct CallRecord {
  // The response as received, so that `--json` keeps fields added by later versions.
  base::Value wire;
  model::ToolCall call;
};

struct CallSelection {
  std::optional<base::RunId> run = {};
  // The path of the only project to list; not combined with `run`.
  std::optional<std::string> project = {};
  // Only newer ones, oldest first.
  std::optional<base::CallId> after = {};
};
// Newest first, unless `after` is set.
std::vector<CallRecord> list_calls(Daemon& daemon, const CallSelection& selection, std::size_t limit);
CallRecord get_call(Daemon& daemon, base::CallId id);

}  // namespace reeve::client
