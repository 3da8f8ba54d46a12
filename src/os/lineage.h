#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/process.h"

// A process's ancestors and their properties.
namespace reeve::os {

// The process and all its ancestors, nearest first, as a consistent snapshot. Empty if the process is gone, its pid has
// been reused, or not all of its ancestors can be read.
std::vector<ProcessId> find_lineage(const ProcessId& id);

// A variable of the process's initial environment; nullopt if unset or unreadable.
std::optional<std::string> variable_of(pid_t pid, std::string_view name);
// Its cgroup in the v2 hierarchy: "/user.slice/…"; empty if unreadable.
std::string cgroup_of(pid_t pid);
// Whether it is in the same mount namespace as this process. False also if it is gone or unreadable.
bool shares_mounts(pid_t pid);
// Whether the process runs this program with this first argument, even if the program file has been replaced since.
bool runs_program(pid_t pid, std::string_view name, std::string_view first_word);

}  // namespace reeve::os
