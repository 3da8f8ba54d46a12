#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace reeve::view {

// Breaks the text at blanks, so that it fits into `columns` (0: no limit). It begins at column `indent`, and so does
// each further line. A word that is wider than the room gets a line of its own.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indent = 0);

// Wraps each paragraph anew: they are separated by empty lines, and other line ends count as blanks.
std::string wrap_paragraphs(std::string_view text, std::size_t columns);

}  // namespace reeve::view
