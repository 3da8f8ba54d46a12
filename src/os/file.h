#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Small files, read and written as a whole.
namespace reeve::os {

// Whether a pipe may be read: until its writer closes it, which may never happen.
enum class Pipes { refused, read };
// Reads at most `max_bytes`. Throws base::Error: `file.not_found`, `file.unreadable` (permission, a folder, a device:
// only regular files are read, and pipes if allowed), `file.too_large`. Never blocks on opening a pipe, and never reads
// more than the limit, whatever the path refers to.
std::string read_file(const std::filesystem::path& path, std::size_t max_bytes, Pipes pipes = Pipes::refused);
// The same, or nullopt if the file does not exist or cannot be read for any of these reasons.
std::optional<std::string> find_file(const std::filesystem::path& path, std::size_t max_bytes);
// Reads standard input to its end, with the same limit.
std::string read_standard_input(std::size_t max_bytes);

// Creates the file with this text; returns false and changes nothing if it exists. It appears complete or not at all.
bool create_file(const std::filesystem::path& path, std::string_view text);
// Replaces or creates the file, readable by the owner only: readers see the old text or the new one. Not synced.
void replace_file(const std::filesystem::path& path, std::string_view text);
// Creates the folder and its parents.
void create_folders(const std::filesystem::path& path);

// Regular files in a folder whose names have one of the endings, sorted; at most `most`. Empty if the folder does not
// exist.
std::vector<std::filesystem::path> list_files(const std::filesystem::path& folder,
                                              const std::vector<std::string>& endings, std::size_t most);

}  // namespace reeve::os
