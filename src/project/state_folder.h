#pragma once

#include <filesystem>
#include <optional>
#include <string>

// The folder in which a daemon keeps its state (SPEC §7), and the names in it.
namespace reeve::project {

struct StateFolder {
  // Absolute.
  std::filesystem::path root;

  std::filesystem::path socket() const { return root / "reeve.sock"; }
  // The token that local programs send to the daemon's port; created with the first one.
  std::filesystem::path http_token() const { return root / "http.token"; }
  // Locked by the single daemon of this folder.
  std::filesystem::path lock() const { return root / "reeve.lock"; }
  std::filesystem::path logs() const { return root / "logs"; }
  // One folder per run.
  std::filesystem::path runs() const { return root / "runs"; }
  // One folder per unfinished execution: its settings at the start.
  std::filesystem::path executions() const { return root / "executions"; }
  // Locks and sockets of the keepers.
  std::filesystem::path keepers() const { return root / "keepers"; }
  // The project, if this is the `.reeve/state` of one.
  std::optional<std::filesystem::path> project() const;
};

// The user's common state folder, which serves all projects without their own. Nothing without a home folder.
std::optional<StateFolder> find_common_state();

// `--state`, REEVE_STATE, `.reeve/state` of the project around `start` if it keeps its own state, else the common one.
// Throws `cli.no_state_folder` if there is none of these.
StateFolder find_state_folder(const std::optional<std::string>& wanted, const std::filesystem::path& start);

// The same, or nothing if there is none of these.
std::optional<StateFolder> find_any_state_folder(const std::optional<std::string>& wanted,
                                                 const std::filesystem::path& start);

}  // namespace reeve::project
