#include "os/file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/quantity.h"
#include "base/text.h"
#include "os/fd.h"
#include "os/write.h"

namespace reeve::os {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

[[noreturn]] void too_large(std::string_view name, std::size_t max_bytes) {
  throw base::Error(ErrorCode::file_too_large,
                    fmt::format("{} is larger than {}", base::quoted(name), base::format_byte_size({max_bytes})),
                    "split it, or remove data that does not belong in it");
}

std::string read_all(int fd, std::string_view name, std::size_t expected, std::size_t max_bytes) {
  // Reading one byte beyond the limit detects a file that is too large.
  std::string text;
  text.resize(std::min(expected, max_bytes) + 1);
  std::size_t size = 0;
  while (true) {
    if (size == text.size()) {
      if (size > max_bytes) too_large(name, max_bytes);
      text.resize(std::min(2 * size, max_bytes + 1));
    }
    const ssize_t count = ::read(fd, text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      base::throw_errno(ErrorCode::file_unreadable, fmt::format("cannot read {}", base::quoted(name)), errno);
    }
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > max_bytes) too_large(name, max_bytes);
  text.resize(size);
  return text;
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t max_bytes, Pipes pipes) {
  const std::string name = path.string();
  // O_NONBLOCK: opening a pipe without a writer must not hang.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) {
    const bool missing = errno == ENOENT || errno == ENOTDIR;
    base::throw_errno(missing ? ErrorCode::file_not_found : ErrorCode::file_unreadable,
                      fmt::format("cannot read {}", base::quoted(name)), errno);
  }
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) {
    base::throw_errno(ErrorCode::file_unreadable, fmt::format("cannot read {}", base::quoted(name)), errno);
  }
  const bool is_pipe = S_ISFIFO(status.st_mode) && pipes == Pipes::read;
  if (!S_ISREG(status.st_mode) && !is_pipe) {
    throw base::Error(ErrorCode::file_unreadable,
                      fmt::format("cannot read {}: it is {}", base::quoted(name),
                                  S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  }
  if (S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) > max_bytes) too_large(name, max_bytes);
  // A shell's `<(command)` is a pipe with a writer: wait for it as any reader would.
  if (is_pipe && ::fcntl(fd.get(), F_SETFL, 0) != 0) {
    base::throw_errno(ErrorCode::file_unreadable, fmt::format("cannot read {}", base::quoted(name)), errno);
  }
  return read_all(fd.get(), name, static_cast<std::size_t>(status.st_size), max_bytes);
}

std::optional<std::string> find_file(const fs::path& path, std::size_t max_bytes) try {
  return read_file(path, max_bytes);
} catch (const base::Error&) {
  return std::nullopt;
}

std::string read_standard_input(std::size_t max_bytes) {
  return read_all(STDIN_FILENO, "standard input", base::limits::kib * 64, max_bytes);
}

bool create_file(const fs::path& path, std::string_view text) {
  const std::string name = path.string();
  const auto fail = [&](int error) {
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot write {}", base::quoted(name)), error);
  };
  // Written under another name and linked into place: a crash or a full disk leaves no partial file, and an existing
  // file is never replaced.
  const std::string draft = fmt::format("{}.draft.{}", name, ::getpid());
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) fail(errno);
  const bool is_created =
      write_all(fd.get(), text) && ::fsync(fd.get()) == 0 && ::link(draft.c_str(), name.c_str()) == 0;
  const int error = is_created ? 0 : errno;
  ::unlink(draft.c_str());
  if (error != 0 && error != EEXIST) fail(error);
  return is_created;
}

void replace_file(const fs::path& path, std::string_view text) {
  const std::string draft = path.string() + ".draft";
  // A symlink at this path is not followed.
  const Fd fd(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd && write_all(fd.get(), text) && ::rename(draft.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  ::unlink(draft.c_str());
  base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot write {}", base::quoted(path.string())), error);
}

void create_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    base::throw_errno(ErrorCode::file_unwritable,
                      fmt::format("cannot create the folder {}", base::quoted(path.string())), error.value());
  }
}

std::vector<fs::path> list_files(const fs::path& folder, const std::vector<std::string>& endings, std::size_t most) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool wanted = std::ranges::any_of(endings, [&](const std::string& ending) { return name.ends_with(ending); });
    std::error_code ignored;
    if (wanted && it->is_regular_file(ignored)) files.push_back(it->path());
  }
  std::ranges::sort(files);
  files.resize(std::min(files.size(), most));
  return files;
}

}  // namespace reeve::os
