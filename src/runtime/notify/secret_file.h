#pragma once

#include <expected>
#include <filesystem>
#include <string>

namespace reeve::runtime {

// The key in a file of this user that nobody else can access (0600), without the final line break; otherwise the reason
// why it is not used. Never blocks on a pipe.
std::expected<std::string, std::string> read_secret_file(const std::filesystem::path& path);

}  // namespace reeve::runtime
