#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// The floors of running tools: the least that a program of its own would do for the same effect. Nothing of Reeve.
namespace reeve::bench::floor {

// Starts it, reads its standard output and error to their ends, waits for it. What it printed is thrown away.
void run_captured(const std::vector<std::string>& argv);

// `argv | cat > file`, until both have ended.
void run_piped_into_file(const std::vector<std::string>& argv, const std::filesystem::path& file);

// The program on a terminal of its own; what it prints is read and thrown away. How many bytes came.
std::uint64_t run_on_terminal(const std::vector<std::string>& argv);

// Each line of a file as a JSON string in another file, byte by byte.
void escape_lines(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace reeve::bench::floor
