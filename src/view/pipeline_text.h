#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/pipeline.h"
#include "view/style.h"
#include "view/table.h"
#include "wire/pipeline_record.h"

// Pipelines as text for people. Text from agents is sanitized (LOG-3).
namespace reeve::view {

// "◆ waiting_for_approval", in its colour.
std::string status_text(model::PipelineStatus status, const Style& style);

// Started pipelines. `now` is for terminals: times are relative then; without it they are UTC.
Table pipelines_table(const std::vector<wire::PipelineRecord>& pipelines, const Style& style,
                      std::optional<base::WallTime> now);
// One pipeline with all its steps. When piped, a line begins with `pipeline` or `step`. `now` as above.
std::string pipeline_details(const wire::PipelineRecord& pipeline, const Style& style,
                             std::optional<base::WallTime> now);

// The pipelines that a file defines.
Table pipeline_definitions(const model::Pipelines& pipelines);

}  // namespace reeve::view
