#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "project/state_folder.h"
#include "spec/config_file.h"
#include "spec/source.h"

// Locates the project, config files and workflows on this machine.
namespace reeve::project {

// The environment variables that Reeve passes to programs it starts for itself: enough to be found, to use the user's
// locale, and to reach the desktop.
inline constexpr std::array hook_variables = {
    "PATH",    "HOME",           "USER", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY", "WAYLAND_DISPLAY"};

// Names of the variables that set config values: REEVE_STORE, REEVE_SUPERVISION_LEASE, …
std::vector<std::string> setting_variables();

// The value of an environment variable, if it is set and not empty.
std::optional<std::string> variable(const char* name);

// The nearest folder from `start` upwards that has `.reeve/`. In a linked git worktree, the main checkout is searched
// instead: files in a worktree may be written by an agent and must not configure anything.
std::optional<std::filesystem::path> find_project(const std::filesystem::path& start);

// Whether the project keeps its own state: `.reeve/state` exists, or its config says `state: project`.
bool has_own_state(const std::filesystem::path& project);
// Whether its config says `state: project`.
bool wants_own_state(const std::filesystem::path& project);

// The project that something in a folder belongs to, with symlinks resolved, so that a project has one path:
// find_project(), else the main checkout of the git repository around the folder.
std::optional<std::filesystem::path> find_checkout(const std::filesystem::path& start);

// Reads the file that the user named; `-` is standard input. Throws base::Error.
std::shared_ptr<const spec::Source> read_source(const std::string& name);

// The config of a project, or without one, from the layers that exist. Throws base::Error for a file that cannot be
// read.
struct FoundConfig {
  bool has_project_file = false;
  base::Result<spec::LoadedConfig> loaded;
};
// Decides which settings of a project's file take effect (project/trust.h), again with every call.
FoundConfig load_config(const std::optional<std::filesystem::path>& project, const std::vector<std::string>& settings,
                        spec::DaemonKeys daemon_keys = spec::DaemonKeys::count);
// What becomes of the project's keys that configure a daemon when the daemon of that folder reads them. Without a
// folder, because the user has no home: as for the daemon that the project would have.
spec::DaemonKeys judge_daemon_keys(const std::filesystem::path& project, const std::optional<StateFolder>& folder);
// Loads the config as if the project's file were trusted, only to show the effect of trusting it.
FoundConfig load_config_to_trust(const std::filesystem::path& project, const std::optional<StateFolder>& folder);

// The config that the state folder's daemon uses: that of its project, or the user's alone.
FoundConfig load_config_of(const StateFolder& folder);
// Changes when one of the files changes that load_config_of() reads, and when a project is trusted or no longer
// trusted.
std::string stamp_config_of(const StateFolder& folder);
// The config for a request that names a folder: that of the project around the folder, wherever the state is kept.
// Without one, or for an empty path, the config of the daemon's own project.
FoundConfig load_config_for(const StateFolder& folder, const std::filesystem::path& named);

// The shortest form of the path relative to the current folder.
std::string shown_path(const std::filesystem::path& path);

// The user's own config file, whether it exists or not.
std::filesystem::path user_config_path();

}  // namespace reeve::project
