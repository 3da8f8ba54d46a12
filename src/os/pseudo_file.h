#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

// The kernel's own files (/proc, cgroups): small, and read in one go. Neither streams nor exceptions, so that the
// keeper stays small.
namespace reeve::os {

// Empty when it is not there or cannot be read; at most `most` bytes.
std::string read_pseudo_file(const char* path, std::size_t most = 4'096);
bool write_pseudo_file(const char* path, std::string_view text) noexcept;
// "/proc/17/stat".
std::string proc_path(pid_t pid, const char* name);
// All process ids that /proc shows now.
std::vector<pid_t> list_processes();
// The entries of a folder that are numbers: of /proc, or of /proc/PID/task.
std::vector<pid_t> list_numbers(const char* path);
// 0 for what is no number.
std::uint64_t parse_unsigned(std::string_view text) noexcept;

}  // namespace reeve::os
