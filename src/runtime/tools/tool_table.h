#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/value.h"

// The hosted tools and their arguments as data: schemas, checks and help come from one table.
namespace reeve::runtime {

enum class ArgumentKind { text, texts, number, flag };

struct ToolArgument {
  std::string_view name;
  ArgumentKind kind;
  bool is_required;
  std::string_view description;
  // Of a text, or of each text of a list, in bytes; a list has at most `max_listed_texts`.
  std::size_t max_bytes = 4 * base::limits::kib;
  // Of a number.
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct ToolShape {
  std::string_view name;
  std::string_view description;
  std::vector<ToolArgument> arguments;
};

inline constexpr std::size_t max_listed_texts = 1'000;
// Escaped as JSON, a text may take six times its bytes, and must still fit into a request.
inline constexpr std::size_t max_written_bytes = 2 * base::limits::mib;

// In the order of SPEC, TOOL-4.
const std::vector<ToolShape>& tool_table();
// Nullptr if there is no tool of that name.
const ToolShape* find_tool_shape(std::string_view tool) noexcept;

}  // namespace reeve::runtime
