#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Small files, read and written whole.
namespace reeve::os {

// Whether a pipe is read as a file is: until whoever has its other end closes it, which may be never.
enum class Pipes { refused, read };
// Reads at most `max_bytes`. Throws base::Error: `file.not_found`, `file.unreadable` (permission, a folder, a device:
// only regular files are read, and pipes where that is said), `file.too_large`. Never waits for somebody to open a
// pipe, and never reads more than the bound, whatever the name stands for.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes, Pipes pipes = Pipes::refused);
// Standard input until its end, bounded likewise.
std::string read_standard_input(std::size_t max_bytes);

// Creates the file with this text, or leaves an existing one as it is: false. It appears whole or not at all.
bool create_file(const std::filesystem::path& path, std::string_view text);
// Replaces the file, or creates it, for the owner alone: whoever looks finds the old text or the new one. Not synced.
void replace_file(const std::filesystem::path& path, std::string_view text);
// Creates the folder and those above it.
void create_folders(const std::filesystem::path& path);

// Regular files of a folder whose names end in one of the endings, sorted; at most `most`. Empty for a folder that is
// not there.
std::vector<std::filesystem::path> list_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& endings, std::size_t most);

}  // namespace reeve::os
