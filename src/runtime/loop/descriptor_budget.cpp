#include "runtime/loop/descriptor_budget.h"

#include <algorithm>

#include <fmt/format.h>

#include "os/usage.h"

namespace reeve::runtime {

namespace {

// The socket to its keeper, the keeper's pidfd, the folder and the file of its output, its own socket.
constexpr std::uint64_t per_run = 5;
// The socket and the pidfd.
constexpr std::uint64_t per_idle_keeper = 2;
constexpr std::size_t max_idle_keepers = 3;
constexpr std::size_t max_http_connections = 1'024;
// Eight runs with as many waiting calls as a run may have.
constexpr std::uint64_t max_run_connections = 8 * 1'024;
// For connections, git and its pipes, and files open briefly.
constexpr std::uint64_t min_reserve = 16;
constexpr std::uint64_t max_reserve = 2 * max_http_connections;

}  // namespace

DescriptorBudget divide_descriptors(std::uint64_t limit, std::uint64_t in_use) {
  DescriptorBudget budget{.limit = limit};
  const std::uint64_t reserve = std::clamp(limit / 4, min_reserve, max_reserve);
  budget.max_connections = std::min<std::uint64_t>(max_http_connections, reserve / 2);
  budget.idle_keepers = reserve == min_reserve ? 1 : max_idle_keepers;
  // A quarter of the reserve is for them in any case.
  const std::uint64_t reserved = reserve / 4;
  budget.max_run_connections = std::clamp(limit / 8, reserved, max_run_connections);
  const std::uint64_t taken =
      in_use + reserve + budget.idle_keepers * per_idle_keeper + (budget.max_run_connections - reserved);
  budget.max_runs = limit > taken ? (limit - taken) / per_run : 0;
  return budget;
}

DescriptorBudget divide_own_descriptors() {
  const os::Usage usage = os::read_own_usage();
  return divide_descriptors(static_cast<std::uint64_t>(usage.max_open_files),
                            static_cast<std::uint64_t>(usage.open_files));
}

base::Error no_descriptors(const DescriptorBudget& budget, std::size_t runs) {
  return {base::ErrorCode::run_no_descriptors,
          fmt::format("no file descriptors left for another run: {} runs are alive, and the limit of {} open files "
                      "allows {}",
                      runs, budget.limit, budget.max_runs),
          "wait for a run to end, or raise the hard limit (`ulimit -Hn`, LimitNOFILE= in a service), `reeve stop` and "
          "start again; runs survive the restart"};
}

}  // namespace reeve::runtime
