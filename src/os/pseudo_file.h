#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

// Kernel pseudo-files (/proc, cgroups): small, and read at once. Uses neither streams nor exceptions, to keep the
// keeper small.
namespace reeve::os {

// Empty if the file is missing or unreadable; at most `most` bytes.
std::string read_pseudo_file(const char* path, std::size_t most = 4'096);
bool write_pseudo_file(const char* path, std::string_view text) noexcept;
// "/proc/17/stat".
std::string proc_path(pid_t pid, const char* name);
// All process ids currently visible in /proc.
std::vector<pid_t> list_processes();
// The entries of a folder that are numbers, as in /proc or /proc/PID/task.
std::vector<pid_t> list_numbers(const char* path);
// 0 if the text is not a number.
std::uint64_t parse_unsigned(std::string_view text) noexcept;

}  // namespace reeve::os
