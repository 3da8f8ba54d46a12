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

// How much a proof does, by REEVE_PROOF_EXECUTIONS, REEVE_PROOF_KILLS, REEVE_PROOF_RESTARTS and REEVE_PROOF_SEED.
struct ProofSize {
  int executions = 0;
  int kills = 0;
  // Of the database.
  int restarts = 0;
  unsigned seed = 0;
};
ProofSize proof_size(ProofSize otherwise);

// Executions of every shape under daemons that are killed, with people who answer, cancel and try again, and a ledger
// of effects that only the tools write (`reeve_zoo step`). Everything is asked through the API, so that it holds on
// either store; who loses its daemon asks again.
class FlowProofTest : public DaemonTest {
 protected:
  FlowProofTest() = default;

  // A daemon, by its state folder.
  using Site = std::filesystem::path;
  Site site(const std::string& name) const { return name == "a" ? state() : scratch().path() / name; }
  void TearDown() override;

  // Tools, roles, gates and workflows; `head` are the first lines of the config. One project, whatever the site.
  void write_project(const std::string& head) const;
  std::filesystem::path ledger_path() const { return scratch().path() / "steps"; }
  std::vector<LedgerLine> ledger() const { return read_ledger(ledger_path()); }

  // What the daemon there answers, its body; nothing when there is none, or it leaves while it is asked.
  std::optional<std::string> ask(const Site& at, const std::string& method, const std::string& target,
                                 const std::string& body = {}, const std::string& headers = {}) const;
  // Asks until it is answered.
  std::string insist(const Site& at, const std::string& target) const;
  Outcome reeve_at(const Site& at, const Words& words) const;
  pid_t daemon_pid(const Site& at) const;
  // Starts the daemon there unless somebody did; the next command does, or its guard.
  void revive(const Site& at, std::mt19937& random) const;

  // The names of the shapes, and how an execution of each ends.
  static const std::map<std::string, std::string>& shapes();
  // Starts one: its id. Tries again for as long as nobody answers, under one key.
  std::string start_flow(const Site& at, const std::string& shape, const std::string& label) const;
  // Every execution there is, subgraphs too.
  std::vector<StoredExecution> read_all(const Site& at) const;

  // People: answer what is asked, cancel what is to be cancelled, try again what failed and may be mended. One thread
  // until it is told to end.
  struct People {
    std::atomic<bool> must_end = false;
    std::atomic<int> answered = 0;
    std::atomic<int> interruptions = 0;
    std::atomic<int> cancelled = 0;
    std::atomic<int> retried = 0;
  };
  void act(People& people, const std::vector<Site>& sites, unsigned seed) const;

  // Executions are started and daemons killed, all at once, until as many were as `size` says; then everything is over,
  // or stuck, and is held against the ledger.
  struct Disturbance {
    std::vector<Site> sites;
    ProofSize size;
    // As after a crash; `size.restarts` times.
    std::function<void()> restart_database = [] {};
    // How long a daemon stands still, now and then, instead of being killed; none: never.
    std::chrono::milliseconds pause{0};
  };
  void prove(const Disturbance& disturbance) const;

  // Waits until all are over. Fails the test when nothing moves for two seconds though no tool is at work: it is stuck.
  void wait_until_over(const Site& at) const;
  // What the store says holds against what the tools have written, and every shape has ended as it must.
  void expect_proved(const Site& at) const;

  // Executions that are not over, one a line with what is at work in them; what a person will try again is not.
  std::vector<std::string> list_unfinished(const Site& at) const;
  bool is_step_alive() const;
  // One that holds a step at work; false when there is none.
  bool kill_a_keeper(std::mt19937& random) const;

 private:
  void answer_questions(People& people, const Site& at) const;
  struct Tale;
  void keep_starting(const Disturbance& disturbance, Tale& tale) const;
  void disturb(const Disturbance& disturbance, Tale& tale) const;
  void cancel_and_retry(People& people, const Site& at, std::mt19937& random) const;
};

}  // namespace reeve::testing
