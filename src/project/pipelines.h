#pragma once

#include <filesystem>
#include <string>

#include "base/problem.h"
#include "model/config.h"
#include "model/pipeline.h"

// The pipelines of a project.
namespace reeve::project {

std::filesystem::path pipelines_path(const std::filesystem::path& project);

// Reads `.reeve/pipelines.yaml` and checks it against the config, if there is one; `started` as in
// spec::parse_pipelines. Throws `pipeline.no_file`, and `pipeline.not_found` with a suggestion if there is no pipeline
// `started`.
base::Result<model::Pipelines> load_pipelines(const std::filesystem::path& project, const model::Config* config,
                                              const std::string& started = {});

}  // namespace reeve::project
