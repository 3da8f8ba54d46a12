#pragma once

#include "model/execution.h"

namespace reeve::server {

// PIP-3: a pipeline that a person rejected is over for good, and not to be tried again. Throws `pipeline.rejected`.
void refuse_rejected_pipeline(const model::Execution& execution);

}  // namespace reeve::server
