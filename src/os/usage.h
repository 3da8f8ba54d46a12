#pragma once

#include <cstdint>

namespace reeve::os {

// Resources used by this process now; 0 if the kernel does not report a value.
struct Usage {
  std::int64_t resident_bytes = 0;
  // Shared memory is divided among the processes that share it.
  std::int64_t proportional_bytes = 0;
  std::int64_t virtual_bytes = 0;
  double cpu_seconds = 0;
  std::int64_t threads = 0;
  std::int64_t open_files = 0;
  std::int64_t max_open_files = 0;
};

Usage read_own_usage();

}  // namespace reeve::os
