#pragma once

#include "server/contract/operations.h"

namespace reeve::server {

// Of every operation that returns nodes.
inline Parameter outputs_parameter() { return flag_parameter("outputs", "0: omit the inputs and outputs of nodes"); }

}  // namespace reeve::server
