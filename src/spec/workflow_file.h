#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "model/config.h"
#include "model/workflow.h"
#include "spec/source.h"

// Workflow files (SPEC §3, S6 §1.1).
namespace reeve::spec {

// The workflows that a subgraph may name: by id, then by name, then by file stem (GRF-11).
class WorkflowCatalog {
 public:
  struct Entry {
    std::string file;
    std::string stem;
    model::Workflow workflow;
    std::size_t errors = 0;
    std::shared_ptr<const Source> source;
  };

  // Ignores a file that is not a workflow (it has no `nodes`).
  void add(std::string stem, std::shared_ptr<const Source> source);
  const Entry* find(std::string_view name) const;
  // All known names, for "did you mean".
  std::vector<std::string> names() const;

 private:
  std::vector<Entry> entries_;
};

// The context that a workflow is checked against.
struct WorkflowContext {
  // If set, roles and gates are checked.
  const model::Config* config = nullptr;
  // Whether every role must resolve to a tool that can be started: `needed` before a start, `wished` to warn that a
  // start would fail.
  enum class Tools { unasked, wished, needed };
  Tools tools = Tools::unasked;
  // Called only if the workflow has subgraphs; if unset, they are not resolved.
  std::function<const WorkflowCatalog&()> catalog;
};

struct WorkflowFile {
  model::Workflow workflow;
  // Hashes the meaning, not the spelling: key order, comments, style and explicit defaults do not matter.
  std::string content_hash;
  // Warnings only.
  base::Problems warnings;
};

// Reports all problems at once (GRF-1), in file order.
base::Result<WorkflowFile> parse_workflow(std::shared_ptr<const Source> source, const WorkflowContext& context = {});

// "sha256:…" over the canonical JSON of the workflow.
std::string hash_content(const model::Workflow& workflow);

}  // namespace reeve::spec
