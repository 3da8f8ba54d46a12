#include "cli/gate/settings_file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "os/write.h"

namespace reeve::cli {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t max_bytes = base::limits::spec_file_bytes;
constexpr mode_t all_mode_bits = 07777;

}  // namespace

SettingsFile::SettingsFile(SettingsPath path) : path_(std::move(path)) {
  mode_t mode = 0;
  if (const auto folder = open_folder()) text_ = read(*folder, mode);
}

void SettingsFile::fail(std::string_view doing, int error) const {
  const std::string name = base::quoted(path_.text().string());
  if (error == ELOOP || error == ENOTDIR) {
    throw Error(ErrorCode::file_unreadable, fmt::format("{} is reached through a symlink, or not a regular file", name),
                "edit the file that it points to by hand, or replace the symlink");
  }
  base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot {} {}", doing, name), error);
}

// Empty if the folder does not exist.
std::optional<os::Folder> SettingsFile::open_folder() const {
  os::Folder root = os::Folder::open(path_.root.string(), os::Folder::Links::followed);
  if (path_.folder.empty()) return root;
  auto folder = root.open_folder(path_.folder);
  if (folder) return std::move(*folder);
  if (folder.error() != ENOENT) fail("open", folder.error());
  return std::nullopt;
}

std::optional<std::string> SettingsFile::read(const os::Folder& folder, mode_t& mode) const {
  const auto file = folder.open_file(path_.file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) {
    if (file.error() == ENOENT) return std::nullopt;
    fail("read", file.error());
  }
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) fail("read", errno);
  if (!S_ISREG(status.st_mode)) fail("read", ENOTDIR);
  mode = status.st_mode & all_mode_bits;
  std::string text;
  std::array<char, 64UZ * 1024> part{};
  while (true) {
    const ssize_t got = ::read(file->get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", errno);
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      throw Error(ErrorCode::file_too_large, fmt::format("{} is over 4 MiB", base::quoted(path_.text().string())));
    }
  }
}

void SettingsFile::replace(const std::string& text, mode_t new_mode) {
  auto folder = open_folder();
  if (!folder) {
    const os::Folder root = os::Folder::open(path_.root.string(), os::Folder::Links::followed);
    if (!root.make_folder(path_.folder)) fail("create the folder of", errno);
    folder = open_folder();
    if (!folder) fail("create the folder of", ENOENT);
  }
  mode_t mode = new_mode;
  if (read(*folder, mode) != text_) {
    throw Error(ErrorCode::file_unwritable,
                fmt::format("{} has changed meanwhile; nothing was written", base::quoted(path_.text().string())),
                "run the command again");
  }
  const std::string draft = fmt::format(".{}.reeve-{}", path_.file, base::random_hex(8));
  const auto file = folder->open_file(draft, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!file) fail("write", file.error());
  const bool is_written = os::write_all(file->get(), text) && ::fchmod(file->get(), mode) == 0 &&
                          ::fsync(file->get()) == 0 &&
                          ::renameat(folder->fd(), draft.c_str(), folder->fd(), path_.file.c_str()) == 0;
  if (!is_written) {
    const int error = errno;
    folder->remove(draft);
    fail("write", error);
  }
  text_ = text;
}

}  // namespace reeve::cli
