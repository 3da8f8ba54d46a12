#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/value.h"
#include "model/config.h"
#include "project/state_folder.h"
#include "runtime/settings/isolation_settings.h"

namespace reeve::runtime {

// The settings an execution was started with, frozen (SPEC §7): its project and the relevant part of the config.
struct ExecutionSettings {
  // The project folder, absolute: tasks without a worktree run there.
  std::string project;
  // The path under which the project is recorded: that of its main checkout where the execution was started.
  std::optional<std::string> recorded_project;
  // The commit the execution started at; nothing means no isolation: all work happens in the project folder (ISO-1).
  std::optional<std::string> base_commit;
  std::map<std::string, model::ToolProfile> tools;
  std::map<std::string, model::Role> roles;
  std::map<std::string, model::Gate> gates;
  model::WorktreeSettings worktree;
  model::RiskLevels risk;
  // For the tool calls of its agents (TOOL-1).
  model::Policies policies;
  model::AgentSettings agents;
  model::ApplyWhen apply = model::ApplyWhen::on_complete;
  // ISO-2: the default sandbox of gates: the strictest of the tasks in the execution and its subgraphs.
  model::Sandbox gate_sandbox = model::Sandbox::none;
  // The environment of the user who started the execution. Not described, so that it never reaches the store.
  std::map<std::string, std::string> environment;
  friend bool operator==(const ExecutionSettings&, const ExecutionSettings&) = default;
};
BOOST_DESCRIBE_STRUCT(ExecutionSettings, (),
                      (project, recorded_project, base_commit, tools, roles, gates, worktree, risk, policies, agents,
                       apply, gate_sandbox))

// Key in the stored config: the nonce of the draft file.
inline constexpr const char* start_key = "start";

// Takes the settings from the config.
ExecutionSettings make_settings(const model::Config& config, std::string project);

IsolationSettings make_isolation_settings(const ExecutionSettings& settings);

// The form stored in the database: without the environment and the values of secret variables.
base::Value encode_public(const ExecutionSettings& settings);
std::optional<ExecutionSettings> decode_public(const base::Value& stored);

// Writes the complete settings to a file in the state folder that only its owner can read. It is kept as long as the
// execution may continue, which includes a retry after failure. It is written before the execution exists, under a
// nonce that is stored with the execution, and renamed after the execution once that exists. Throws `file.unwritable`.
void draft_settings(const project::StateFolder& folder, const std::string& nonce, const ExecutionSettings& settings);
// False if the rename fails: the next daemon tries again.
bool name_settings(const project::StateFolder& folder, const std::string& nonce, base::ExecutionId execution);
// The project of these settings was moved. Throws `file.unwritable`.
void rewrite_project(const project::StateFolder& folder, base::ExecutionId execution, const std::string& before,
                     const std::string& after);
void drop_settings_draft(const project::StateFolder& folder, const std::string& nonce);
// Nonces of draft files: a crash prevented their execution from being created, or the file from being renamed.
std::vector<std::string> find_settings_drafts(const project::StateFolder& folder);
// Nothing if the execution was started elsewhere.
std::optional<ExecutionSettings> read_settings(const project::StateFolder& folder, base::ExecutionId execution);
void remove_settings(const project::StateFolder& folder, base::ExecutionId execution);
// Settings stay open until the work at the end of the execution is done, so that the next daemon completes it after a
// crash.
void close_settings(const project::StateFolder& folder, base::ExecutionId execution);
bool is_settings_open(const project::StateFolder& folder, base::ExecutionId execution);
// Opens settings for an execution that was started on another host and continues here: this host has cleanup to do as
// well.
void open_remote_copy(const project::StateFolder& folder, base::ExecutionId execution);
// Undoes open_remote_copy(): the execution does not continue here after all.
void forget_remote_copy(const project::StateFolder& folder, base::ExecutionId execution);
// True if the settings were closed and are open now.
bool reopen_settings(const project::StateFolder& folder, base::ExecutionId execution);
std::vector<base::ExecutionId> find_open_settings(const project::StateFolder& folder);

}  // namespace reeve::runtime
