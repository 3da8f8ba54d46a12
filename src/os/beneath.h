#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// A directory and the files beneath it. The kernel refuses paths that leave it through `..`, a symlink or a race with a
// process that swaps one in.
namespace reeve::os {

struct KnownFolder;

class Folder {
 public:
  // Whether the last component of the path may be a symlink.
  enum class Links { refused, followed };
  // Whether a path may lead into another mount.
  enum class Mounts { refused, crossed };
  // Throws `os.failed`.
  static Folder open(const std::string& path, Links links = Links::refused);

  // Opens a file beneath the folder, like open(2); returns the error number on failure.
  std::expected<Fd, int> open_file(const std::string& name, int flags, mode_t mode = 0600,
                                   Mounts mounts = Mounts::crossed) const;
  std::expected<Folder, int> open_folder(const std::string& name, Mounts mounts = Mounts::crossed) const;
  // True if the folder now exists, whether created or already present.
  bool make_folder(const std::string& name, mode_t mode = 0700) const;
  // Replaces by rename: readers see either the old file or the complete new one.
  bool replace_file(const std::string& name, const std::string& content) const;
  bool remove(const std::string& name) const noexcept;
  // The folder has been deleted: no file can be created in it.
  bool is_deleted() const noexcept;
  int fd() const noexcept { return fd_.get(); }
  friend std::expected<Folder, int> open_known(const KnownFolder& known);

 private:
  explicit Folder(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// A folder that was looked at earlier: another one under the same name is different.
struct KnownFolder {
  std::string root;
  // Beneath the root; "." for the root itself.
  std::string name;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const KnownFolder&, const KnownFolder&) = default;
};
// Opens it beneath its root, without symlinks. The error number on failure; ESTALE if it is not that folder any more.
std::expected<Folder, int> open_known(const KnownFolder& known);

}  // namespace reeve::os
