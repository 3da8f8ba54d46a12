#pragma once

#include <string>
#include <vector>

#include "spec/key_table.h"

// Files with one key, for every key of the tables: to compare the readers with what is generated from the tables.
namespace reeve::testing {

struct SampleFile {
  // "tools.*.timeout".
  std::string path;
  std::string text;
  // Whether the value is one that the table allows. Missing keys do not count.
  bool is_allowed = true;
};

std::vector<SampleFile> sample_files(spec::FileType type);
// For each block, a file with a key that the block does not have.
std::vector<SampleFile> files_with_unknown_keys(spec::FileType type);

}  // namespace reeve::testing
