#include "runtime/tools/command_folder.h"

#include <cerrno>
#include <sys/stat.h>

#include "base/error.h"
#include "runtime/tools/confined_folder.h"

namespace reeve::runtime {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw base::Error(base::ErrorCode::call_not_allowed, why, "a hosted command runs inside the worktree");
}

}  // namespace

os::KnownFolder find_command_folder(const std::string& worktree, const std::string& folder) {
  const auto root = ConfinedFolder::open(worktree);
  if (!root) refuse(root.error());
  const auto name = root->resolve(folder);
  if (!name) refuse(name.error());
  const auto opened = root->open_folder(*name);
  if (!opened) refuse(opened.error());
  struct stat status{};
  if (::fstat(opened->fd(), &status) != 0) {
    base::throw_errno(base::ErrorCode::os_failed, "cannot inspect the folder of a command", errno);
  }
  return {.root = worktree, .name = *name, .device = status.st_dev, .inode = status.st_ino};
}

}  // namespace reeve::runtime
