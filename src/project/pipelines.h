#pragma once

#include <filesystem>
#include <string>

#include "base/problem.h"
#include "model/config.h"
#include "model/pipeline.h"

// The pipelines of a project.
namespace reeve::project {

std::filesystem::path pipelines_path(const std::filesystem::path& project);

// `.reeve/pipelines.yaml`, held against the config where there is one; `started` as spec::parse_pipelines has it.
// Throws `pipeline.no_file`, and `pipeline.not_found` with what was probably meant when it has no pipeline
// `started`.
base::Result<model::Pipelines> load_pipelines(const std::filesystem::path& project, const model::Config* config,
                                              const std::string& started = {});

}  // namespace reeve::project
