#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The blocks of commands in the documentation: fenced, without a language or with that of a shell. Drawings and output
// are marked `text`.
namespace reeve::testing {

struct DocBlock {
  // Relative to the repository.
  std::string file;
  int line = 0;
  // The language after the fence; usually empty for commands.
  std::string language;
  // Why it cannot be executed: from `<!-- not run: REASON -->` on the line above; empty if it can.
  std::string not_run;
  // What has to be there before it can: from `<!-- prepared: NAME -->` (doc_preparations.h); usually empty.
  std::string prepared;
  // Part of what the block of commands before it prints: `<!-- output -->` on the line above.
  bool is_output = false;
  std::vector<std::string> lines;

  std::string place() const;
  bool is_commands() const;
  // What is typed: the lines after `$ ` if there are any, with their continuations, otherwise all lines.
  std::vector<std::string> commands() const;
  // The other lines, if any command has a `$ ` before it.
  std::vector<std::string> shown() const;
};

// Pages that people read: README.md, SECURITY.md, CONTRIBUTING.md, docs and examples.
std::vector<std::string> doc_pages();
std::vector<DocBlock> read_doc_blocks(const std::string& page);

// The words of each call of `reeve` in a line of a shell, without comments. Quotes are removed, nothing is expanded.
std::vector<std::vector<std::string>> find_reeve_calls(std::string_view line);

}  // namespace reeve::testing
