#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/value.h"
#include "model/config.h"
#include "project/state_folder.h"
#include "runtime/isolation.h"

namespace reeve::runtime {

// What an execution was started with, frozen (SPEC §7): where it works, and the part of the config that it goes by.
struct ExecutionGround {
  // The folder of the project, absolute: tasks without a worktree run there.
  std::string project;
  // The commit that it started at; nothing: no isolation, everything happens in the project's folder (ISO-1).
  std::optional<std::string> base_commit;
  std::map<std::string, model::ToolProfile> tools;
  std::map<std::string, model::Role> roles;
  std::map<std::string, model::Gate> gates;
  model::WorktreeSettings worktree;
  model::ApplyWhen apply = model::ApplyWhen::on_complete;
  // ISO-2: of gates that name none; the strictest of the tasks of the execution and its subgraphs.
  model::Sandbox gate_sandbox = model::Sandbox::none;
  // Of the one who started it. Not described: it is never in the store.
  std::map<std::string, std::string> environment;
  friend bool operator==(const ExecutionGround&, const ExecutionGround&) = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionGround, (), (project, base_commit, tools, roles, gates, worktree, apply, gate_sandbox))

// In the stored config: the nonce of its draft.
inline constexpr const char* start_key = "start";

// What the config gives.
ExecutionGround make_ground(const model::Config& config, std::string project);

IsolationGround make_isolation_ground(const ExecutionGround& ground);

// For the store: without environment, and without the values of variables that are secrets.
base::Value encode_public(const ExecutionGround& ground);
std::optional<ExecutionGround> decode_public(const base::Value& stored);

// All of it, as a file of the state folder that only its owner can read, kept while it may go on: a failed one can be
// tried again. Written before the execution exists, under a nonce that the store gets with it, and named after it once
// it does. Throws `file.unwritable`.
void draft_ground(const project::StateFolder& folder, const std::string& nonce, const ExecutionGround& ground);
// False when that cannot be done: the next daemon tries again.
bool name_ground(const project::StateFolder& folder, const std::string& nonce, base::ExecutionId execution);
void drop_ground_draft(const project::StateFolder& folder, const std::string& nonce);
// The nonces of drafts: of executions that a crash kept from their names, or from being.
std::vector<std::string> find_ground_drafts(const project::StateFolder& folder);
// Nothing when it was started elsewhere.
std::optional<ExecutionGround> read_ground(const project::StateFolder& folder, base::ExecutionId execution);
void remove_ground(const project::StateFolder& folder, base::ExecutionId execution);
// Open until what is to be done at the end of the execution was done: the next daemon does it after a crash.
void close_ground(const project::StateFolder& folder, base::ExecutionId execution);
bool is_ground_open(const project::StateFolder& folder, base::ExecutionId execution);
// One that was started elsewhere and is worked on here: something is to be done at its end here too.
void open_guest_ground(const project::StateFolder& folder, base::ExecutionId execution);
// It is not worked on here after all.
void forget_guest_ground(const project::StateFolder& folder, base::ExecutionId execution);
// True when it was closed, and is open now.
bool reopen_ground(const project::StateFolder& folder, base::ExecutionId execution);
std::vector<base::ExecutionId> find_open_grounds(const project::StateFolder& folder);

}  // namespace reeve::runtime
