#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

// Random tool calls of one run on the real ledger and store: simulated agents, people and daemons, a manual clock, and
// crashes between any two commits. One thread and one seed: the same seed gives the same trace.
namespace reeve::simulation {

struct CallsReport {
  // Violations; empty if there are none.
  std::vector<std::string> broken;
  std::string trace;

  std::size_t crashes = 0;
  std::size_t calls = 0;
  // Calls that ran, of agents and of the tool host.
  std::size_t effects = 0;
  std::size_t resumptions = 0;
  // Deferred calls that a later attempt asked again.
  std::size_t continued = 0;
  std::size_t outside_decisions = 0;
  std::size_t expiries = 0;
  std::map<std::string, std::size_t> outcomes;
};

CallsReport simulate_calls(std::uint64_t seed);

}  // namespace reeve::simulation
