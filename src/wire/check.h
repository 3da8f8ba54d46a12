#pragma once

#include <string>

#include "model/describe.h"

namespace reeve::wire {

enum class Health { ok, warn, fail };
REEVE_DESCRIBE_ENUM(Health, ok, warn, fail)

// One requirement of this machine, and whether it is met.
struct Check {
  std::string name;
  Health status = Health::ok;
  std::string detail;
  // How to fix it; empty when nothing needs fixing.
  std::string fix;
};
BOOST_DESCRIBE_STRUCT(Check, (), (name, status, detail, fix))

}  // namespace reeve::wire
