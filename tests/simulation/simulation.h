#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/workflow.h"

// Random workflows on the real ledger and store, with simulated daemons, runs and people, a manual clock, and crashes
// between any two commits. One thread and one seed: the same seed gives the same trace.
namespace reeve::simulation {

struct SimulationOptions {
  std::uint64_t seed = 0;
  // The run without crashes is the reference for the run with crashes.
  bool has_crashes = true;
  // Races (`any`, `first`, fail_fast) make the outcome depend on timing: then it is not compared.
  bool has_races = false;
};

struct Report {
  // Violations; empty if there are none.
  std::vector<std::string> broken;
  // How everything ended: executions, nodes, iterations, attempts, outputs.
  std::string outcome;
  // Every step, to compare two runs of one seed.
  std::string trace;

  std::size_t nodes = 0;
  std::map<model::NodeType, std::size_t> types;
  std::size_t crashes = 0;
  std::map<std::string, std::size_t> crash_points;
  std::size_t commits = 0;
  std::size_t takeovers = 0;
  std::size_t adoptions = 0;
  std::size_t outside_decisions = 0;
  std::size_t refused_late_writers = 0;
  std::size_t cancels = 0;
  std::size_t retries = 0;
  // Runs that outlived their node and were ended by their host, or by the other one after it was gone.
  std::size_t orphans = 0;
  std::size_t lost_orphans = 0;
};

Report simulate(const SimulationOptions& options);

}  // namespace reeve::simulation
