#pragma once

#include <string>
#include <sys/types.h>

namespace reeve::os {

// As the machine knows the user; "uid 1000" for one that it does not.
std::string user_name(uid_t user);

}  // namespace reeve::os
