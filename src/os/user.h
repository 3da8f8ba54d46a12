#pragma once

#include <string>
#include <sys/types.h>

namespace reeve::os {

// The user's login name, or "uid 1000" if unknown.
std::string user_name(uid_t user);
// Whether this is the login name of a person: root, or a user id in the range for people.
bool is_person(const std::string& name);

}  // namespace reeve::os
