#pragma once

#include <string>
#include <vector>

#include "model/token.h"

namespace reeve::server {

// Who asks, as a credential says. Empty on the unix socket, whose owner the kernel names and who may do everything.
struct Caller {
  std::string name;
  std::vector<model::Scope> scopes;
};

}  // namespace reeve::server
