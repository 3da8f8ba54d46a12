#pragma once

#include <optional>
#include <string>

#include "engine/call_subject.h"
#include "engine/digest.h"
#include "model/run.h"
#include "model/tool_call.h"

// What the rules look at, looked up on the disk (TOOL-8).
namespace reeve::runtime {

// Who calls. Known to the daemon, never taken from the call itself.
struct CallOrigin {
  // The profile of the run's tool; empty: none.
  std::string agent;
  std::string role;
  // The path of the project; empty: none.
  std::string project;
  model::Sandbox sandbox = model::Sandbox::none;
  // The folder that calls are confined to: absolute.
  std::string folder;
  model::CallChannel channel = model::CallChannel::socket;
  // Reeve's tool host would run the call, and leaves out files that may hold secrets.
  bool is_hosted = false;
};

// The subject of a call with tool and arguments in Reeve's names: every named path resolved, the program of a simple
// shell command found. `cwd` is the folder of the request; the arguments of a shell call may name another, in which
// everything is then looked up. `path` is the PATH that the run's commands see. Reads names, attributes and `.git`
// files only, and may wait for a slow file system: not for the loop thread.
engine::CallSubject read_call_subject(const CallOrigin& origin, std::string tool, base::Value arguments,
                                      std::string cwd, const std::string& path);

// The identity of a folder; nothing if it is not a folder.
std::optional<engine::FolderIdentity> read_folder_identity(const std::string& folder);

}  // namespace reeve::runtime
