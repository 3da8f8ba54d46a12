#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/node_work.h"

namespace reeve::runtime {

// Asks gates about what is about to be written into a person's checkout (ISO-3): each as a supervised run in a
// throwaway checkout of exactly that commit. A run that a daemon before this one began is waited for. These runs belong
// to the execution, which may be over, and to no node; they take up no room of workers: whoever waits for them may have
// it. Lives on the loop.
class ApplyGates {
 public:
  using Answer = Isolation::Answer<Isolation::GateVerdict>;

  explicit ApplyGates(NodeWork::Helpers helpers) : helpers_(helpers) {}
  ApplyGates(const ApplyGates&) = delete;
  ApplyGates& operator=(const ApplyGates&) = delete;

  // In the order of their `depends_on`, one after the other, to the first that does not pass.
  void ask(Isolation::GateCheck check, Answer answer);
  // What runs under that name ends, and the answer is a refusal.
  void cancel(const std::string& name);

 private:
  struct Check {
    Isolation::GateCheck wanted;
    Answer answer;
    ExecutionGround ground = {};
    std::vector<std::string> gates = {};
    // Of an earlier daemon, by their gates.
    std::map<std::string, base::RunId> begun = {};
    std::size_t at = 0;
    std::string folder = {};
    std::optional<base::RunId> run = {};
    Loop::Hold ending = {};
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

  NodeWork::Helpers helpers_;
  std::map<std::string, SharedCheck> checks_;
};

}  // namespace reeve::runtime
