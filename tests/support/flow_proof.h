#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/daemon.h"
#include "tests/support/flow_records.h"

namespace reeve::testing {

// The size of a proof, from REEVE_PROOF_EXECUTIONS, REEVE_PROOF_KILLS, REEVE_PROOF_RESTARTS and REEVE_PROOF_SEED.
struct ProofSize {
  int executions = 0;
  int kills = 0;
  // Restarts of the database.
  int restarts = 0;
  unsigned seed = 0;
};
ProofSize proof_size(ProofSize otherwise);

// Executions of every shape under daemons that are killed, with people who answer, cancel and retry, and a ledger of
// effects that only the tools write (`reeve_zoo step`). Everything goes through the API, so that it works on either
// store; a client that loses its daemon retries.
class FlowProofTest : public DaemonTest {
 protected:
  FlowProofTest() = default;

  // A daemon, identified by its state folder.
  using Site = std::filesystem::path;
  Site site(const std::string& name) const { return name == "a" ? state() : scratch().path() / name; }
  void TearDown() override;

  // Tools, roles, gates and workflows; `head` is prepended to the config. One project for all sites.
  void write_project(const std::string& head) const;
  std::filesystem::path ledger_path() const { return scratch().path() / "steps"; }
  std::vector<LedgerLine> ledger() const { return read_ledger(ledger_path()); }

  // The body of the daemon's response; nothing if no daemon runs, or it exits meanwhile.
  std::optional<std::string> ask(const Site& at, const std::string& method, const std::string& target,
                                 const std::string& body = {}, const std::string& headers = {}) const;
  // Retries until there is a response.
  std::string insist(const Site& at, const std::string& target) const;
  Outcome reeve_at(const Site& at, const Words& words) const;
  pid_t daemon_pid(const Site& at) const;
  // Starts the daemon there unless it runs; with a command, or by waiting for its guard.
  void revive(const Site& at, std::mt19937& random) const;

  // The shapes, and how an execution of each ends.
  static const std::map<std::string, std::string>& shapes();
  // Starts an execution and returns its id. Retries with one key until there is a response.
  std::string start_flow(const Site& at, const std::string& shape, const std::string& label) const;
  // All executions, including subgraphs.
  std::vector<StoredExecution> read_all(const Site& at) const;

  // People who answer questions, cancel, and retry failures that may be fixed. One thread until stopped.
  struct People {
    std::atomic<bool> must_end = false;
    std::atomic<int> answered = 0;
    std::atomic<int> interruptions = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<int> retried = 0;
  };
  void act(People& people, const std::vector<Site>& sites, unsigned seed) const;

  // Starts executions and kills daemons concurrently until the counts of `size` are reached; then waits until
  // everything has ended or is stuck, and compares the store with the ledger.
  struct Disturbance {
    std::vector<Site> sites;
    ProofSize size;
    // As after a crash; called `size.restarts` times.
    std::function<void()> restart_database = [] {};
    // How long a daemon is occasionally paused instead of killed; zero: never.
    std::chrono::milliseconds pause{0};
  };
  void prove(const Disturbance& disturbance) const;

  // Waits until all have ended. Fails the test if nothing changes for two seconds though no tool is running: it is
  // stuck.
  void wait_until_over(const Site& at) const;
  // The store matches what the tools have written, and every shape ended as it must.
  void expect_proved(const Site& at) const;

  // Unfinished executions, one per line with their running work; failures that a person will retry count as unfinished.
  std::vector<std::string> list_unfinished(const Site& at) const;
  bool is_step_alive() const;
  // Kills a keeper with a running step; false if there is none.
  bool kill_a_keeper(std::mt19937& random) const;

 private:
  void answer_questions(People& people, const Site& at) const;
  struct Tale;
  void keep_starting(const Disturbance& disturbance, Tale& tale) const;
  void disturb(const Disturbance& disturbance, Tale& tale) const;
  void cancel_and_retry(People& people, const Site& at, std::mt19937& random) const;
};

}  // namespace reeve::testing
