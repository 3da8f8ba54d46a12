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

// Workflow files and their context.
namespace reeve::project {

// Whether a word is a file name, existing or not: a workflow name has neither a slash nor an extension.
bool is_workflow_file(const std::string& word);

using Tools = spec::WorkflowContext::Tools;

// Loads a workflow file, or a workflow of the current project by name. Checks it against the config of the current
// project, else of the project around the file, and against the workflows next to it, including subgraphs. Reports the
// problems of all files at once.
base::Result<spec::WorkflowFile> load_workflow(const std::string& name, Tools tools);

// A workflow that is to be started.
struct WorkflowPlace {
  std::shared_ptr<const spec::Source> source;
  // Where subgraphs are searched: the project's workflows, then those next to the file.
  std::optional<std::filesystem::path> project;
  std::optional<std::filesystem::path> folder;
};

// A workflow with everything reachable from it: the targets of its `workflow_name`s, and of its subgraphs' (GRF-11).
struct GatheredWorkflow {
  spec::WorkflowFile file;
  std::map<std::string, spec::WorkflowFile> subgraphs;
};
// GRF-1: always checks against the config, including subgraphs; every role must resolve to a tool. Reports all problems
// at once.
base::Result<GatheredWorkflow> gather_workflow(const WorkflowPlace& place, const model::Config& config);

// Finds a workflow of the project by id, name or file name. Throws `flow.not_found` with a suggestion.
WorkflowPlace find_workflow(const std::filesystem::path& project, const std::string& name);

// The project's workflow files, sorted by name.
std::vector<std::filesystem::path> list_workflow_files(const std::filesystem::path& project);
// Checks against the config and the workflows next to it, including subgraphs. Other causes for a start to be refused,
// such as a role without a tool, are warnings.
base::Result<spec::WorkflowFile> check_workflow(const WorkflowPlace& place, const model::Config& config);

}  // namespace reeve::project
