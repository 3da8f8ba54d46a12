#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The floors for tool runs: the minimum that a separate program would do for the same effect. Uses nothing from Reeve.
namespace reeve::bench::floor {

// Starts the program, reads and discards its standard output and error, and waits for it.
void run_captured(const std::vector<std::string>& argv);

// `argv | cat > file`, until both have ended.
void run_piped_into_file(const std::vector<std::string>& argv, const std::filesystem::path& file);

// Runs the program on its own terminal and discards its output; returns the number of bytes.
std::uint64_t run_on_terminal(const std::vector<std::string>& argv);

// Writes each line of a file as a JSON string to another file, byte by byte.
void escape_lines(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace reeve::bench::floor
