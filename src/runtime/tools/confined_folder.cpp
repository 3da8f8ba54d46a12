#include "runtime/tools/confined_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <unistd.h>
#include <utility>

#include <climits>
#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t max_path_bytes = 4 * base::limits::kib - 1;

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { ::closedir(folder); }
};

// The same inode again, now for use: what was checked is what is opened.
os::Fd reopen(const os::Fd& fd, int flags) {
  return os::Fd(::open(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
}

std::expected<std::string, std::string> normalise(std::string_view relative, std::string_view path) {
  std::string result;
  std::size_t depth = 0;
  for (const std::string_view part : base::split(relative, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::unexpected(fmt::format("{} contains `..`", shown(path)));
    if (part.size() > NAME_MAX) return std::unexpected(fmt::format("{} has a name that is too long", shown(path)));
    if (++depth > max_path_depth) return std::unexpected(fmt::format("{} is too deep", shown(path)));
    if (!result.empty()) result += '/';
    result += part;
  }
  return result.empty() ? "." : result;
}

}  // namespace

std::string explain_refusal(int error_number) {
  switch (error_number) {
    case ENOENT:
      return "it does not exist";
    case ELOOP:
      return "a part of the path is a symlink, and symlinks are not followed";
    case EXDEV:
      return "it is outside the worktree or on another mount";
    case ENOTDIR:
      return "a part of the path is not a folder";
    default:
      return std::strerror(error_number);
  }
}

std::string find_file_fault(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return "it is a folder";
  if (S_ISLNK(status.st_mode)) return "it is a symlink, and symlinks are not followed";
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_nlink > 1) return "it has several hard links, so it may also be a file outside the worktree";
  return "";
}

ConfinedFolder::ConfinedFolder(os::Folder folder, std::vector<std::string> names)
    : folder_(std::move(folder)), names_(std::move(names)) {}

std::expected<ConfinedFolder, std::string> ConfinedFolder::open(const std::string& path) {
  if (!path.starts_with('/')) return std::unexpected("the worktree's path is not absolute");
  try {
    os::Folder folder = os::Folder::open(path);
    std::error_code error;
    std::vector<std::string> names = {std::filesystem::path(path).lexically_normal().string()};
    const std::string real = std::filesystem::canonical(path, error).string();
    if (!error && real != names.front()) names.push_back(real);
    for (std::string& name : names) {
      if (!name.ends_with('/')) name += '/';
    }
    return ConfinedFolder(std::move(folder), std::move(names));
  } catch (const base::Error& error) {
    return std::unexpected(fmt::format("the worktree cannot be used: {}", error.message()));
  }
}

std::expected<std::string, std::string> ConfinedFolder::resolve(std::string_view path) const {
  if (path.size() > max_path_bytes) return std::unexpected("the path is too long");
  if (path.find('\0') != std::string_view::npos) return std::unexpected("the path contains a NUL character");
  if (!path.starts_with('/')) return normalise(path, path);
  auto absolute = normalise(path, path);
  if (!absolute) return absolute;
  const std::string whole = *absolute == "." ? "/" : "/" + *absolute + "/";
  for (const std::string& name : names_) {
    if (whole.starts_with(name)) return normalise(std::string_view(whole).substr(name.size()), path);
  }
  return std::unexpected(fmt::format("{} is outside the worktree", shown(path)));
}

std::expected<ConfinedFolder::File, std::string> ConfinedFolder::open_file(const std::string& relative) const {
  const auto refuse = [&](const std::string& why) {
    return std::unexpected(fmt::format("cannot open {}: {}", shown(relative), why));
  };
  const auto found = folder_.open_file(relative, O_PATH, 0, os::Folder::Mounts::refused);
  if (!found) return refuse(explain_refusal(found.error()));
  File file;
  if (::fstat(found->get(), &file.status) != 0) return refuse(explain_refusal(errno));
  if (const std::string fault = find_file_fault(file.status); !fault.empty()) return refuse(fault);
  file.fd = reopen(*found, O_RDONLY);
  if (!file.fd) return refuse(explain_refusal(errno));
  return file;
}

std::expected<os::Folder, std::string> ConfinedFolder::open_folder(const std::string& relative) const {
  auto found = folder_.open_folder(relative, os::Folder::Mounts::refused);
  if (found) return std::move(*found);
  return std::unexpected(fmt::format("cannot open the folder {}: {}", shown(relative), explain_refusal(found.error())));
}

std::expected<struct stat, int> ConfinedFolder::find_status(const std::string& relative) const {
  const auto found = folder_.open_file(relative, O_PATH | O_NOFOLLOW, 0, os::Folder::Mounts::refused);
  if (!found) return std::unexpected(found.error());
  struct stat status{};
  if (::fstat(found->get(), &status) != 0) return std::unexpected(errno);
  return status;
}

std::expected<std::string, std::string> ConfinedFolder::read_link(const std::string& relative) const {
  const auto refuse = [&](int error_number) {
    return std::unexpected(fmt::format("cannot read the symlink {}: {}", shown(relative), std::strerror(error_number)));
  };
  const auto found = folder_.open_file(relative, O_PATH | O_NOFOLLOW, 0, os::Folder::Mounts::refused);
  if (!found) return refuse(found.error());
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(found->get(), "", target.data(), target.size());
  if (length < 0) return refuse(errno);
  target.resize(static_cast<std::size_t>(length));
  return target;
}

std::expected<ConfinedFolder::Listing, std::string> ConfinedFolder::list(const std::string& relative,
                                                                         std::size_t max_entries) const {
  const auto refuse = [&](int error_number) {
    return std::unexpected(
        fmt::format("cannot list the folder {}: {}", shown(relative), explain_refusal(error_number)));
  };
  auto found = folder_.open_file(relative, O_RDONLY | O_DIRECTORY | O_NONBLOCK, 0, os::Folder::Mounts::refused);
  if (!found) return refuse(found.error());
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(found->get()));
  if (!folder) return refuse(errno);
  // Owned by the stream from here on.
  const int fd = found->release();
  Listing listing;
  errno = 0;
  while (const dirent* item = ::readdir(folder.get())) {
    const std::string name = item->d_name;
    if (name == "." || name == "..") continue;
    if (listing.entries.size() == max_entries) {
      listing.is_cut = true;
      break;
    }
    struct stat status{};
    // Removed meanwhile.
    if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0) continue;
    listing.entries.push_back({name, status.st_mode & S_IFMT, status.st_size, status.st_nlink});
  }
  std::ranges::sort(listing.entries, {}, &Entry::name);
  return listing;
}

}  // namespace reeve::runtime
