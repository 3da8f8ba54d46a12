#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/problem.h"
#include "model/config.h"
#include "spec/source.h"
#include "spec/workflow_file.h"

// Workflow files with what lies around them.
namespace reeve::project {

// A workflow file, or a workflow of the project around here by its name, with everything that it is held against: the
// config of its project and the workflows beside it. The problems of both files at once.
base::Result<spec::WorkflowFile> load_workflow(const std::string& name);

// A workflow that is to be started.
struct WorkflowPlace {
  std::shared_ptr<const spec::Source> source;
  // Where subgraphs are looked for: the project's workflows, then those beside the file.
  std::optional<std::filesystem::path> project;
  std::optional<std::filesystem::path> folder;
};

// With all that can be reached from it: what its `workflow_name`s mean, and those of its subgraphs (GRF-11).
struct GatheredWorkflow {
  spec::WorkflowFile file;
  std::map<std::string, spec::WorkflowFile> subgraphs;
};
// GRF-1: held against the config in any case, subgraphs too; every role comes to a tool. All problems at once.
base::Result<GatheredWorkflow> gather_workflow(const WorkflowPlace& place, const model::Config& config);

// A workflow of the project, by id, name or file name. Throws `flow.not_found` with what was probably meant.
WorkflowPlace find_workflow(const std::filesystem::path& project, const std::string& name);

// The workflow files of the project, in the order of their names.
std::vector<std::filesystem::path> list_workflow_files(const std::filesystem::path& project);
// Held against the config and the workflows around it, also where a role comes to no tool yet.
base::Result<spec::WorkflowFile> check_workflow(const WorkflowPlace& place, const model::Config& config);

}  // namespace reeve::project
