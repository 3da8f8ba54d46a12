#pragma once

#include <memory>

#include "base/problem.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "spec/source.h"

namespace reeve::spec {

// Parses `pipelines.yaml` (SPEC §4, S5) and reports all problems at once. With a config, roles and tools are checked,
// and each agent of the pipeline `started` must resolve to a tool.
base::Result<model::Pipelines> parse_pipelines(std::shared_ptr<const Source> source,
                                               const model::Config* config = nullptr, const std::string& started = {});

}  // namespace reeve::spec
