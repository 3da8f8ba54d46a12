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

// Whether a word means a file, also one that is not there: a name of a workflow has neither folder nor ending.
bool is_workflow_file(const std::string& word);

using Tools = spec::WorkflowSurroundings::Tools;

// A workflow file, or a workflow of the project around here by its name, with everything that it is held against: the
// config of the project around here, else of the one around the file, and the workflows beside it, subgraphs too. The
// problems of all files at once.
base::Result<spec::WorkflowFile> load_workflow(const std::string& name, Tools tools);

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
// Held against the config and the workflows around it, subgraphs too. What a start would refuse beside it, such as a
// role that comes to no tool, is a warning.
base::Result<spec::WorkflowFile> check_workflow(const WorkflowPlace& place, const model::Config& config);

}  // namespace reeve::project
