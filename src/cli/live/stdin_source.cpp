#include "cli/live/stdin_source.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/live/controls.h"
#include "os/terminal.h"

namespace reeve::cli {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t part_bytes = 64UZ * 1024;
// keeper::stdin_bytes
constexpr std::size_t max_kept = 16UZ * 1024 * 1024;
constexpr int first_word_ms = 2'000;

[[noreturn]] void refuse(const std::string& what, int error_number) {
  throw Error(error_number == ENOENT ? ErrorCode::file_not_found : ErrorCode::file_unreadable,
              fmt::format("cannot read {}: {}", what, std::generic_category().message(error_number)),
              "give a readable file, or --stdin none");
}

bool is_null_device(const struct stat& status) { return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3); }

StdinSource open_source(const std::string& path) {
  os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) refuse(base::quoted(path), errno);
  const int fd = file.get();
  struct stat status{};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) refuse(base::quoted(path), EISDIR);
  return {.fd = fd, .file = std::move(file), .use = model::StandardInput::required};
}

bool waits_for_input(int fd, int milliseconds) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, milliseconds) == 0;
}

}  // namespace

bool read_some(int fd, std::string& bytes, std::size_t most) {
  const std::size_t before = bytes.size();
  bytes.resize(before + most);
  ssize_t count = -1;
  do {
    count = ::read(fd, bytes.data() + before, most);
  } while (count < 0 && errno == EINTR);
  const int error = errno;
  bytes.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
  if (count < 0 && error == EAGAIN) {
    pollfd wanted{fd, POLLIN, 0};
    ::poll(&wanted, 1, -1);
    return true;
  }
  if (count < 0) refuse("standard input", error);
  return count > 0;
}

std::optional<StdinSource> find_stdin_source(const Call& call) {
  const auto choice = call.arguments.value("--stdin");
  if (choice == "none") return std::nullopt;
  if (choice && choice != "pipe") return open_source(*choice);
  struct stat status{};
  if (::fstat(STDIN_FILENO, &status) != 0 || is_null_device(status)) return std::nullopt;
  StdinSource source{.fd = STDIN_FILENO};
  if (choice) {
    source.use = model::StandardInput::required;
    return source;
  }
  if (os::is_terminal(STDIN_FILENO)) return std::nullopt;
  // A run without data costs no more than one without standard input.
  if (waits_for_input(STDIN_FILENO, 0)) return source;
  if (!read_some(STDIN_FILENO, source.begun, part_bytes)) return std::nullopt;
  return source;
}

void read_to_end(const Call& call, StdinSource& source) {
  bool is_told = false;
  while (source.begun.size() <= max_kept) {
    if (!is_told && waits_for_input(source.fd, first_word_ms)) {
      print_beside(call, "waiting for the end of standard input; to start without it: --stdin none");
      is_told = true;
    }
    if (!read_some(source.fd, source.begun, part_bytes)) {
      source.has_ended = true;
      return;
    }
  }
  throw Error(ErrorCode::cli_usage, "standard input is larger than the 16 MiB that `--detach` can hand over",
              "let the command read a file, or run it without --detach");
}

}  // namespace reeve::cli
