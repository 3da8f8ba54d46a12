#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "os/beneath.h"
#include "os/fd.h"

namespace reeve::runtime {

// A worktree as the tools see it (TOOL-4): a path is resolved by the kernel beneath the folder's descriptor, without
// symlinks and mount points, so a process that swaps something in cannot lead it elsewhere. Refusals are sentences for
// the agent.
class ConfinedFolder {
 public:
  // Fails if the path is not a folder or is itself a symlink.
  static std::expected<ConfinedFolder, std::string> open(const std::string& path);

  // Relative to the folder, without `.` and empty parts; "." for the folder itself. Refuses `..`, paths that are too
  // long or too deep, and absolute ones that do not name something beneath the folder.
  std::expected<std::string, std::string> resolve(std::string_view path) const;

  struct File {
    os::Fd fd;
    struct stat status = {};
  };
  // Opens for reading. Only a regular file with a single name: another name of it could be outside the worktree. Never
  // blocks, and never opens a device or FIFO, not even for an instant.
  std::expected<File, std::string> open_file(const std::string& relative) const;
  std::expected<os::Folder, std::string> open_folder(const std::string& relative) const;

  // What is there, without following a symlink; the error number on failure.
  std::expected<struct stat, int> find_status(const std::string& relative) const;
  // The target of a symlink, which is not followed.
  std::expected<std::string, std::string> read_link(const std::string& relative) const;

  struct Entry {
    std::string name;
    // S_IFDIR, S_IFREG, …
    mode_t type = 0;
    std::int64_t size = 0;
    nlink_t links = 0;
  };
  struct Listing {
    // Sorted by name.
    std::vector<Entry> entries;
    bool is_cut = false;
  };
  // At most `max_entries`; symlinks are not followed.
  std::expected<Listing, std::string> list(const std::string& relative, std::size_t max_entries) const;

 private:
  ConfinedFolder(os::Folder folder, std::vector<std::string> names);

  os::Folder folder_;
  // The folder's absolute names: as given, and without symlinks.
  std::vector<std::string> names_;
};

inline constexpr std::size_t max_path_depth = 64;

// Why the kernel refused: "a part of the path is a symlink".
std::string explain_refusal(int error_number);
// Why the file is not one that the tools touch: a folder, a symlink, a FIFO, a second hard link. Empty if it is.
std::string find_file_fault(const struct stat& status);

}  // namespace reeve::runtime
