#pragma once

#include <cstddef>

// Limits on external input. Every reader takes its limit from here, so that all of them are in one place.
namespace reeve::base::limits {

inline constexpr std::size_t kib = 1024;
inline constexpr std::size_t mib = 1024 * kib;

// Files written by users.
inline constexpr std::size_t spec_file_bytes = 4 * mib;
inline constexpr std::size_t spec_depth = 64;
// Nodes of the YAML tree after aliases are expanded; a workflow of 10,000 nodes has about 250,000.
inline constexpr std::size_t spec_tree_nodes = 1'000'000;
// Nodes that aliases alone may add: enough for shared blocks, far too little for a bomb.
inline constexpr std::size_t spec_alias_nodes = 100'000;
// Members of one mapping: more tools than any real config has, far fewer than a file of nothing but keys.
inline constexpr std::size_t spec_members = 10'000;
inline constexpr std::size_t spec_text_bytes = 1 * mib;

// Names compared with misspelt ones to make suggestions, per file.
inline constexpr std::size_t spec_suggestions = 500'000;
// Consecutive blanks and line breaks, and bytes per line: the YAML parser's time is quadratic in the first, its memory
// linear in the second.
inline constexpr std::size_t spec_blanks = 256;
inline constexpr std::size_t spec_line_bytes = 256 * kib;
// Unclosed opening brackets, counted in the raw text: the parser queues all of them before it emits the first event.
inline constexpr std::size_t spec_open_brackets = 1'000;

// Problems collected from one input; further ones are counted but not kept.
inline constexpr std::size_t problems_kept = 100;

inline constexpr std::size_t workflow_nodes = 20'000;
inline constexpr std::size_t workflow_edges = 100'000;
inline constexpr std::size_t workflow_loops = 5'000;
inline constexpr std::size_t workflow_inputs = 100;
inline constexpr std::size_t subgraph_depth = 8;
inline constexpr std::size_t name_bytes = 128;
// Maximum number of times that a loop edge may be taken.
inline constexpr std::size_t loop_iterations = 1'000'000;
// Workflow files read to find a subgraph.
inline constexpr std::size_t workflow_files = 1'000;

// JSON from the network, tools and the database.
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t json_bytes = 16 * mib;
inline constexpr std::size_t json_values = 1'000'000;

// Redaction: secrets of one run.
inline constexpr std::size_t secret_count = 1'024;
inline constexpr std::size_t secret_bytes = 64 * kib;
// Shorter values are not treated as secrets: masking them would hide unrelated text.
inline constexpr std::size_t secret_min_bytes = 4;

}  // namespace reeve::base::limits
