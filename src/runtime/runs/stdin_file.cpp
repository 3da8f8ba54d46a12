#include "runtime/runs/stdin_file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"

namespace reeve::runtime {

namespace {

using keeper::StdinHead;

std::string path_in(const std::string& run_folder) { return run_folder + "/" + keeper::stdin_name; }

std::string note_in(const std::string& run_folder) { return run_folder + "/stdin.empty"; }

bool write_at(int fd, std::string_view bytes, std::uint64_t position) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    position += static_cast<std::uint64_t>(count);
  }
  return true;
}

bool write_head(int fd, const StdinHead& head) { return write_at(fd, keeper::encode_stdin_head(head), 0); }

}  // namespace

std::optional<StdinHead> read_stdin_head(const std::string& run_folder) {
  const os::Fd file(::open(path_in(run_folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  std::array<char, keeper::stdin_head_bytes> bytes{};
  const ssize_t count = file ? ::pread(file.get(), bytes.data(), bytes.size(), 0) : -1;
  return count == std::ssize(bytes) ? keeper::decode_stdin_head({bytes.data(), bytes.size()}) : std::nullopt;
}

StdinWrite append_stdin(const std::string& run_folder, const StdinHead& head, std::string_view bytes, bool is_end) {
  StdinWrite result{.head = head};
  const auto fail = [&] {
    result.error_number = errno;
    return result;
  };
  const os::Fd file(::open(path_in(run_folder).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail();
  const std::uint64_t end = head.written + bytes.size();
  // Stored first: after a crash in between, no attempt may be given a stream whose beginning was overwritten.
  if (end > keeper::stdin_bytes && head.is_whole) {
    result.head.is_whole = false;
    if (!write_head(file.get(), result.head)) return fail();
  }
  while (!bytes.empty()) {
    const std::uint64_t at = result.head.written % keeper::stdin_bytes;
    const auto part = bytes.substr(0, static_cast<std::size_t>(keeper::stdin_bytes - at));
    if (!write_at(file.get(), part, keeper::stdin_head_bytes + at)) return fail();
    bytes.remove_prefix(part.size());
    result.head.written += part.size();
  }
  // After a power failure, a stream counts as complete only if all of it is on disk.
  if (is_end && result.head.is_whole && ::fdatasync(file.get()) != 0) return fail();
  result.head.has_ended = is_end;
  if (!write_head(file.get(), result.head)) return fail();
  return result;
}

void note_empty_stdin(const std::string& run_folder) {
  const os::Fd note(
      ::open(note_in(run_folder).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
}

bool had_empty_stdin(const std::string& run_folder) {
  struct stat status{};
  return ::lstat(note_in(run_folder).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace reeve::runtime
