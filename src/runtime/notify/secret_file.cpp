#include "runtime/notify/secret_file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "os/fd.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t longest_key = 4'096;

}  // namespace

std::expected<std::string, std::string> read_secret_file(const std::filesystem::path& path) {
  const std::string name = base::quoted(base::visible(path.string()));
  const auto refuse = [&](std::string_view why) {
    return std::unexpected(fmt::format("the key in {} cannot be used: {}", name, why));
  };
  if (!path.is_absolute()) return refuse("`secret_file` must be an absolute path here");
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0) return refuse(std::generic_category().message(errno));
  // Checked on the open file, so that it cannot be exchanged in between.
  if (!S_ISREG(status.st_mode)) return refuse("it is not a regular file");
  if (status.st_uid != ::geteuid()) return refuse("it belongs to another user");
  if ((status.st_mode & 0077U) != 0)
    return refuse(fmt::format("others can access it; run: chmod 600 {}", path.string()));
  std::array<char, longest_key + 1> bytes{};
  const ssize_t count = ::read(file.get(), bytes.data(), bytes.size());
  if (count < 0) return refuse(std::generic_category().message(errno));
  std::string key(bytes.data(), static_cast<std::size_t>(count));
  if (key.size() > longest_key) return refuse(fmt::format("it is longer than {} bytes", longest_key));
  while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
  if (key.empty()) return refuse("it is empty");
  return key;
}

}  // namespace reeve::runtime
