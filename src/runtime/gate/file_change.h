#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// What a call that writes a whole file would change, for the person who decides it (TOOL-3).
namespace reeve::runtime {

// Texts with more bytes or lines are shown as they are.
inline constexpr std::size_t max_compared_bytes = 256UZ * 1024;
inline constexpr std::size_t max_compared_lines = 2'000;

// A unified diff with three lines around each change; empty if the texts are equal, nothing if they are too large or
// not text. Pure.
std::optional<std::string> make_diff(std::string_view path, std::string_view before, std::string_view after);

// The arguments with `diff` in place of `content`, for a file beneath the folder that exists and can be compared;
// otherwise, and for files whose names suggest secrets, unchanged. Reads the file through the folder's descriptor, and
// follows no symlink.
base::Value show_change(const std::string& folder, const base::Value& arguments);

}  // namespace reeve::runtime
