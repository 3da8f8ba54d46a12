#pragma once

#include <cstdint>

namespace reeve::os {

// What this process takes of the machine at the moment; 0 where the kernel does not say.
struct Usage {
  std::int64_t resident_bytes = 0;
  // Its share of memory that others use too counted in parts.
  std::int64_t proportional_bytes = 0;
  std::int64_t virtual_bytes = 0;
  double cpu_seconds = 0;
  std::int64_t threads = 0;
  std::int64_t open_files = 0;
  std::int64_t most_open_files = 0;
};

Usage read_own_usage();

}  // namespace reeve::os
