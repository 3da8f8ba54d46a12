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

// The workflows that a subgraph may name: by id, then by name, then by the stem of the file (GRF-11).
class WorkflowCatalog {
 public:
  struct Entry {
    std::string file;
    std::string stem;
    model::Workflow workflow;
    std::size_t errors = 0;
    std::shared_ptr<const Source> source;
  };

  // A file that is no workflow at all (no `nodes`) is passed over.
  void add(std::string stem, std::shared_ptr<const Source> source);
  const Entry* find(std::string_view name) const;
  // What can be named, for «did you mean».
  std::vector<std::string> names() const;

 private:
  std::vector<Entry> entries_;
};

// What a workflow is held against beside itself.
struct WorkflowSurroundings {
  // Roles and gates are checked when there is one.
  const model::Config* config = nullptr;
  // Whether every role must also come to a tool that can be started: before a start it must; whoever looks at a file is
  // told what a start would refuse.
  enum class Tools { unasked, wished, needed };
  Tools tools = Tools::unasked;
  // Asked only when the workflow has subgraphs; without it they are not looked up.
  std::function<const WorkflowCatalog&()> catalog;
};

struct WorkflowFile {
  model::Workflow workflow;
  // Of what it means, not of how it is written: order of keys, comments, style and spelled-out defaults change nothing.
  std::string content_hash;
  // Warnings only.
  base::Problems warnings;
};

// All problems at once (GRF-1), in the order of the file.
base::Result<WorkflowFile> parse_workflow(std::shared_ptr<const Source> source,
                                          const WorkflowSurroundings& surroundings = {});

// "sha256:…" over the canonical JSON of the workflow.
std::string hash_content(const model::Workflow& workflow);

}  // namespace reeve::spec
