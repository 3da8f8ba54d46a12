#include "os/beneath.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "os/write.h"

namespace reeve::os {

Folder Folder::open(const std::string& path, Links links) {
  const int follow = links == Links::refused ? O_NOFOLLOW : 0;
  Fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | follow));
  if (!fd) base::throw_errno(base::ErrorCode::os_failed, "cannot open the folder '" + path + "'", errno);
  return Folder(std::move(fd));
}

std::expected<Fd, int> Folder::open_file(const std::string& name, int flags, mode_t mode, Mounts mounts) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags) | O_CLOEXEC;
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::refused) how.resolve |= RESOLVE_NO_XDEV;
  while (true) {
    const long fd = ::syscall(SYS_openat2, fd_.get(), name.c_str(), &how, sizeof(how));
    if (fd >= 0) return Fd(static_cast<int>(fd));
    // A concurrent rename elsewhere in the tree: the kernel asks to retry.
    if (errno != EAGAIN) return std::unexpected(errno);
  }
}

std::expected<Folder, int> Folder::open_folder(const std::string& name, Mounts mounts) const {
  auto fd = open_file(name, O_PATH | O_DIRECTORY, 0, mounts);
  if (!fd) return std::unexpected(fd.error());
  return Folder(std::move(*fd));
}

bool Folder::make_folder(const std::string& name, mode_t mode) const {
  return ::mkdirat(fd_.get(), name.c_str(), mode) == 0 || errno == EEXIST;
}

bool Folder::replace_file(const std::string& name, const std::string& content) const {
  const std::string fresh = name + ".new";
  {
    const auto file = open_file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file || !write_all(file->get(), content)) return false;
  }
  return ::renameat(fd_.get(), fresh.c_str(), fd_.get(), name.c_str()) == 0;
}

bool Folder::is_deleted() const noexcept {
  struct stat status{};
  return ::fstat(fd_.get(), &status) == 0 && status.st_nlink == 0;
}

std::expected<Folder, int> open_known(const KnownFolder& known) {
  Fd root(::open(known.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!root) return std::unexpected(errno);
  auto folder = Folder(std::move(root)).open_folder(known.name);
  if (!folder) return folder;
  struct stat status{};
  if (::fstat(folder->fd(), &status) != 0) return std::unexpected(errno);
  if (status.st_dev != known.device || status.st_ino != known.inode) return std::unexpected(ESTALE);
  return folder;
}

bool Folder::remove(const std::string& name) const noexcept { return ::unlinkat(fd_.get(), name.c_str(), 0) == 0; }

}  // namespace reeve::os
