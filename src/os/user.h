#pragma once

#include <string>
#include <sys/types.h>

namespace reeve::os {

// As the machine knows the user; "uid 1000" for one that it does not.
std::string user_name(uid_t user);
// Whether the machine knows a person of that name: root, or one whose number is that of people.
bool is_person(const std::string& name);

}  // namespace reeve::os
