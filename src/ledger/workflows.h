#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/execution.h"
#include "model/workflow.h"
#include "store/session.h"

namespace reeve::ledger {

// A stored version of a workflow, compiled for decisions.
struct LoadedWorkflow {
  explicit LoadedWorkflow(model::Workflow words) : workflow(std::move(words)), compiled(workflow) {}
  LoadedWorkflow(const LoadedWorkflow&) = delete;
  LoadedWorkflow& operator=(const LoadedWorkflow&) = delete;

  const model::Workflow workflow;
  const engine::CompiledWorkflow compiled;
};

// Versions never change, so each is read and compiled once. Keeps the most recently used ones.
class Workflows {
 public:
  // Throws `store.damaged` if it does not exist.
  std::shared_ptr<const LoadedWorkflow> get(store::Session& session, const std::string& hash);
  // Stores it if it is new.
  static void put(store::Session& session, const std::string& hash, const model::Workflow& workflow,
                  const std::string& now);

 private:
  static constexpr std::size_t max_kept = 256;
  struct Entry {
    std::string hash;
    std::shared_ptr<const LoadedWorkflow> workflow;
  };
  std::list<Entry> recent_;
  std::unordered_map<std::string, std::list<Entry>::iterator> by_hash_;
};

}  // namespace reeve::ledger
