#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executions/node_executor.h"

namespace reeve::runtime {

// Runs the gates that must pass before a change is written into the user's checkout (ISO-3). Each gate is a supervised
// run in a throwaway checkout of exactly that commit. A run begun by an earlier daemon is waited for. These runs belong
// to the execution, which may have ended, and to no node. They need no worker slot, because the node that waits for
// them may hold the last one. Lives on the loop.
class ApplyGates {
 public:
  using Answer = Isolation::Answer<Isolation::GateVerdict>;

  explicit ApplyGates(NodeExecutor::Parts parts) : parts_(parts) {}
  ApplyGates(const ApplyGates&) = delete;
  ApplyGates& operator=(const ApplyGates&) = delete;

  // Runs the gates in `depends_on` order, one at a time, up to the first that does not pass.
  void ask(Isolation::GateCheck check, Answer answer);
  // Ends the gate run of that check and answers with a refusal.
  void cancel(const std::string& name);
  void on_run_changed(const model::Run& run);

 private:
  struct Check {
    Isolation::GateCheck wanted;
    Answer answer;
    ExecutionSettings settings = {};
    std::vector<std::string> gates = {};
    // Runs begun by an earlier daemon, by gate.
    std::map<std::string, base::RunId> begun = {};
    std::size_t at = 0;
    std::string folder = {};
    std::optional<base::RunId> run = {};
    bool is_cancelled = false;
    bool is_over = false;
  };
  using SharedCheck = std::shared_ptr<Check>;

  void next(const SharedCheck& check);
  void start(const SharedCheck& check);
  void launch(const SharedCheck& check, const RunPlan& plan);
  void follow(const SharedCheck& check, base::RunId run);
  void on_gate_end(const SharedCheck& check, const model::Run& run);
  void refuse(const SharedCheck& check, const std::string& why);
  void fail(const SharedCheck& check, const std::string& gate, const base::Error& error);
  void end(const SharedCheck& check, const std::expected<Isolation::GateVerdict, base::Error>& verdict);

  NodeExecutor::Parts parts_;
  std::map<std::string, SharedCheck> checks_;
  // By the gate run they wait for.
  std::multimap<base::RunId, SharedCheck> followed_;
};

}  // namespace reeve::runtime
