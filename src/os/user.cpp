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

bool is_person(const std::string& name) {
  constexpr uid_t first_person = 1'000;
  constexpr uid_t nobody = 65'534;
  std::array<char, 4'096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error != 0 || found == nullptr) return false;
  return entry.pw_uid == 0 || (entry.pw_uid >= first_person && entry.pw_uid != nobody);
}

}  // namespace reeve::os
