#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/process.h"

// Whose child a process is, and what is known of those above it.
namespace reeve::os {

// The process and all above it, nearest first, as they were at one moment. Empty when it is gone, when its number is
// another's by now, or when the processes above it cannot all be read.
std::vector<ProcessId> find_lineage(const ProcessId& id);

// The value that a process was started with; nothing when it has none, or may not be looked at.
std::optional<std::string> variable_of(pid_t pid, std::string_view name);
// Its group of the v2 hierarchy: "/user.slice/…"; empty when it cannot be read.
std::string cgroup_of(pid_t pid);
// Whether it sees the same mounts as this process. False also when it is gone or may not be looked at.
bool shares_mounts(pid_t pid);
// Whether it is that program, started with that word. Also when the file has been replaced since.
bool runs_program(pid_t pid, std::string_view name, std::string_view first_word);

}  // namespace reeve::os
