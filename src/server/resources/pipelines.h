#pragma once

#include "model/execution.h"

namespace reeve::server {

// PIP-3: a rejected pipeline has failed permanently and cannot be retried. Throws `pipeline.rejected`.
void refuse_rejected_pipeline(const model::Execution& execution);

}  // namespace reeve::server
