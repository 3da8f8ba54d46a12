#pragma once

#include <string>

#include "model/describe.h"

namespace reeve::wire {

enum class Health { ok, warn, fail };
REEVE_DESCRIBE_ENUM(Health, ok, warn, fail)

// One thing that Reeve needs of this machine, and how it stands.
struct Check {
  std::string name;
  Health status = Health::ok;
  std::string detail;
  // How to mend it; empty when there is nothing to mend.
  std::string fix;
};
BOOST_DESCRIBE_STRUCT(Check, (), (name, status, detail, fix))

}  // namespace reeve::wire
