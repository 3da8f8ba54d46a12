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

// Where things are on this machine: the project, the config files, the workflows.
namespace reeve::project {

// What a program that Reeve starts for its own ends gets of the environment: to be found, to speak the person's
// language, and to reach the desktop.
inline constexpr std::array errand_variables = {
    "PATH",    "HOME",           "USER", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY", "WAYLAND_DISPLAY"};

// Names of the variables that are settings: REEVE_STORE, REEVE_SUPERVISION_LEASE, …
std::vector<std::string> setting_variables();

// The value of an environment variable that is set and not empty.
std::optional<std::string> variable(const char* name);

// The nearest folder from `start` upwards that has `.reeve/`. In a linked worktree of git the main checkout is looked
// at instead: what lies in a worktree may have been written by an agent, and decides nothing.
std::optional<std::filesystem::path> find_project(const std::filesystem::path& start);

// The file as the person named it; `-` is standard input. Throws base::Error.
std::shared_ptr<const spec::Source> read_source(const std::string& name);

// The config for a project, or for none, with the layers that exist. Throws base::Error for a file that cannot be read.
struct FoundConfig {
  bool has_project_file = false;
  base::Result<spec::LoadedConfig> loaded;
};
// What of a project's file counts is decided here (project/trust.h), anew with every call.
FoundConfig load_config(const std::optional<std::filesystem::path>& project, const std::vector<std::string>& settings,
                        spec::DaemonKeys daemon_keys = spec::DaemonKeys::count);
// As if the project's file were trusted, to show what that would mean: nothing else may go by it.
FoundConfig load_config_to_trust(const std::filesystem::path& project);

// Of the project that the state folder belongs to, or of the user alone: what its daemon goes by.
FoundConfig load_config_of(const StateFolder& folder);
// What a request goes by that names a folder: the config of the project around it, wherever the state is kept. Without
// one, also for an empty path, that of the daemon's own project.
FoundConfig load_config_for(const StateFolder& folder, const std::filesystem::path& named);

// As short as it can be written from here.
std::string shown_path(const std::filesystem::path& path);

// The user's own config file, whether it exists or not.
std::filesystem::path user_config_path();

}  // namespace reeve::project
