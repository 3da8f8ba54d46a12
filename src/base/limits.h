#pragma once

#include <cstddef>

// Bounds on what comes from outside. Every reader takes its bound from here, so that one page shows them all.
namespace reeve::base::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// Files that people write.
inline constexpr std::size_t spec_file_bytes = 4 * mib;
inline constexpr std::size_t spec_depth = 64;
// Nodes of the YAML tree after aliases are expanded; a workflow of 10,000 nodes has about 250,000.
inline constexpr std::size_t spec_tree_nodes = 1'000'000;
// Nodes that aliases alone may add: enough for shared blocks, far too little for a bomb.
inline constexpr std::size_t spec_alias_nodes = 100'000;
// Members of one mapping: more tools than anybody has, far fewer than a file of nothing but keys.
inline constexpr std::size_t spec_members = 10'000;
inline constexpr std::size_t spec_text_bytes = 1 * mib;

// Names that are compared with a misspelt one, over a whole file.
inline constexpr std::size_t spec_suggestions = 500'000;
// Blanks and line breaks in a row, and bytes of a line: the YAML parser needs time in the square of the first and
// memory in proportion to the second.
inline constexpr std::size_t spec_blanks = 256;
inline constexpr std::size_t spec_line_bytes = 256 * kib;
// Opening brackets without their closing ones, counted in the bare text: it queues them all before it tells the first.
inline constexpr std::size_t spec_open_brackets = 1'000;

// Problems that one reading collects; what goes beyond is counted, not kept.
inline constexpr std::size_t problems_kept = 100;

inline constexpr std::size_t workflow_nodes = 20'000;
inline constexpr std::size_t workflow_edges = 100'000;
inline constexpr std::size_t workflow_loops = 5'000;
inline constexpr std::size_t subgraph_depth = 8;
inline constexpr std::size_t name_bytes = 128;
// How often a loop edge may be taken at most.
inline constexpr std::size_t loop_iterations = 1'000'000;
// Workflow files looked at to find a subgraph.
inline constexpr std::size_t workflow_files = 1'000;

// JSON from the network, tools and the database.
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t json_bytes = 16 * mib;
inline constexpr std::size_t json_values = 1'000'000;

// Redaction: secrets of one run.
inline constexpr std::size_t secret_count = 1'024;
inline constexpr std::size_t secret_bytes = 64 * kib;
// A shorter value is no secret worth the name, and hiding it would blacken innocent text.
inline constexpr std::size_t secret_min_bytes = 4;

}  // namespace reeve::base::limits
