#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/random.h"
#include "ledger/executions.h"

namespace reeve::simulation {

// One attempt of one node: a command that is started at most once.
struct WorkKey {
  std::int64_t execution = 0;
  graph::NodeIndex node = 0;
  int iteration = 0;
  int attempt = 0;
  auto operator<=>(const WorkKey&) const = default;
};

inline WorkKey key_of(const ledger::Claim& claim) {
  return {claim.execution.number(), claim.node, claim.iteration, claim.attempt};
}

// What really happens, whatever the daemons believe: processes survive a daemon, and their exits are kept.
struct World {
  struct Process {
    std::size_t host = 0;
    bool has_ended = false;
  };
  std::map<WorkKey, Process> processes;
  // The run that represents it in the store.
  std::map<base::RunId, WorkKey> by_run;
  // An independent ledger: how often each command was started.
  std::map<WorkKey, int> effects;

  void start(const WorkKey& key, std::size_t host, base::RunId run) {
    processes[key] = {host};
    by_run[run] = key;
    ++effects[key];
  }
  // Does nothing if it never began.
  void kill(base::RunId run) {
    const auto found = by_run.find(run);
    if (found != by_run.end()) processes[found->second].has_ended = true;
  }
};

// The result depends only on the subject, never on the time of the call.
inline std::uint64_t fate(std::uint64_t seed, const std::string& what, std::uint64_t below) {
  std::uint64_t mixed = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : what) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return base::SeededRandom(mixed).below(below);
}

}  // namespace reeve::simulation
