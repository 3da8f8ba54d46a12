#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/value.h"
#include "engine/call_path.h"
#include "model/run.h"
#include "model/tool_call.h"

namespace reeve::engine {

// The program that a shell call would start, as the caller found it.
struct ProgramFact {
  // As written in the command.
  std::string name;
  // Absolute, with symlinks resolved; empty if there is none.
  std::string path;
  // The run could replace it: it is beneath the worktree, or its file or one of its folders is writable for the run.
  bool is_writable_by_run = true;
};

// A tool call with everything that the rules look at (TOOL-8). Tool and arguments have Reeve's names (tool_names.h).
struct CallSubject {
  // The profile of the tool that makes the call.
  std::string agent;
  // Empty: none.
  std::string role;
  // Path; empty: none.
  std::string project;
  std::string tool;
  base::Value arguments;
  // The folder that the call works in, absolute: for a shell call find_working_folder().
  std::string cwd;
  // The worktree, and what the named paths resolve to.
  CallPlace place;
  model::CallChannel channel = model::CallChannel::socket;
  model::Sandbox sandbox = model::Sandbox::none;
  std::optional<ProgramFact> program;
  // Words of a shell call that name files which the run can write, as written.
  std::vector<std::string> writable_files;
  // git, started in `cwd`, uses the repository that the worktree belongs to, and nothing on the way looks like another.
  bool finds_own_repository = false;
};

}  // namespace reeve::engine
