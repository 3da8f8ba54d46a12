#include "os/user.h"

#include <array>
#include <pwd.h>

namespace reeve::os {

std::string user_name(uid_t user) {
  std::array<char, 4'096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return error == 0 && found != nullptr ? std::string(found->pw_name) : "uid " + std::to_string(user);
}

}  // namespace reeve::os
