#pragma once

#include <memory>

#include "base/problem.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "spec/source.h"

namespace reeve::spec {

// `pipelines.yaml` (SPEC §4, S5), all problems at once. Roles and tools are checked when there is a config; the agents
// of the pipeline that is to be started must then also come to a tool.
base::Result<model::Pipelines> parse_pipelines(std::shared_ptr<const Source> source,
                                               const model::Config* config = nullptr, const std::string& started = {});

}  // namespace reeve::spec
