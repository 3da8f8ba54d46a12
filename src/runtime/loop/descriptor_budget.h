#pragma once

#include <cstddef>
#include <cstdint>

#include "base/error.h"

namespace reeve::runtime {

// How this process divides its file descriptors. A run that would take the last of them is refused before it exists, so
// that requests, git and the next recovery always have some.
struct DescriptorBudget {
  std::size_t max_runs = 0;
  std::size_t max_connections = 0;
  // Of the sockets of all runs together, besides a few of each.
  std::size_t max_run_connections = 0;
  std::size_t idle_keepers = 0;
  std::uint64_t limit = 0;
};

// `limit` is RLIMIT_NOFILE; `in_use` is the number of descriptors the daemon has open before it holds any run.
DescriptorBudget divide_descriptors(std::uint64_t limit, std::uint64_t in_use);
// Uses the current values of this process.
DescriptorBudget divide_own_descriptors();

// `run.no_descriptors`.
base::Error no_descriptors(const DescriptorBudget& budget, std::size_t runs);

}  // namespace reeve::runtime
