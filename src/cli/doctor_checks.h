#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "model/describe.h"

namespace reeve::cli {

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

// All of them, in the order in which they matter. Changes nothing and starts no daemon.
std::vector<Check> check_machine(const client::DaemonPlace& place);

}  // namespace reeve::cli
