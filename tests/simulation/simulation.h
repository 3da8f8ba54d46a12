#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/workflow.h"

// Random workflows on the real ledger and store, with simulated daemons, runs and people, a clock that is turned by
// hand, and crashes between any two commits. One thread and one seed: the same seed gives the same trace.
namespace reeve::simulation {

struct Wishes {
  std::uint64_t seed = 0;
  // Without crashes it is what the run with crashes is compared with.
  bool has_crashes = true;
  // Races (`any`, `first`, fail_fast) make the outcome depend on the order of things: then it is not compared.
  bool has_races = false;
};

struct Report {
  // What was broken; empty when nothing was.
  std::vector<std::string> broken;
  // How everything ended: executions, nodes, iterations, attempts, outputs.
  std::string outcome;
  // Every step, for two runs of one seed to be compared.
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
  // Runs that outlived their node and were ended by their host, or after it was gone by the other.
  std::size_t orphans = 0;
  std::size_t lost_orphans = 0;
};

Report simulate(const Wishes& wishes);

}  // namespace reeve::simulation
