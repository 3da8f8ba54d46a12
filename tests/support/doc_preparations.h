#pragma once

#include <string>

#include "tests/support/doc_blocks.h"

// How a block is executed that names what its reader has: runs, approvals and executions of an imaginary day, a
// repository, another machine. `<!-- prepared: NAME -->` stands on the line above it.
namespace reeve::testing {

// Shell functions and settings that the scripts below need; for the beginning of a page.
std::string preparation_prelude();

// The script of such a block: each of its commands as the page has it, after something of the reader's was made for it
// and with the id of that instead of the shown one. Throws std::out_of_range if there is no such preparation.
std::string prepared_script(const DocBlock& block);

// Whether what the block shows besides its commands is what they print.
bool shows_what_is_printed(const DocBlock& block);

}  // namespace reeve::testing
