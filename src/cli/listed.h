#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "cli/answer.h"
#include "cli/command.h"

namespace reeve::cli {

// The records of a listing, fetched with one extra to detect that there are more. The extra one is dropped; unless
// `--limit` was given, a note on standard error follows the listing.
template <class Record>
class Listed {
 public:
  Listed(const Call& call, std::vector<Record> records, std::size_t limit)
      : call_(call), records_(std::move(records)), is_cut_(records_.size() > limit) {
    if (is_cut_) records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(limit), records_.end());
  }
  ~Listed() {
    if (!is_cut_ || call_.arguments.has("--limit")) return;
    print_aside("{} shown; use --limit N to see more\n", records_.size());
  }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

  auto begin() { return records_.begin(); }
  auto end() { return records_.end(); }

 private:
  const Call& call_;
  std::vector<Record> records_;
  bool is_cut_;
};

}  // namespace reeve::cli
