#include "runtime/runs/run_socket_path.h"

#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/hash.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1;
constexpr const char* socket_name = "/sock";

bool is_private(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 0077U) == 0;
}

bool make_private(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return false;
  return is_private(path);
}

// One per state folder, in a location that every machine has.
std::string short_folder(const project::StateFolder& state) {
  constexpr std::size_t hash_length = 16;
  const std::string name =
      fmt::format("reeve-{}-{}", ::geteuid(), base::sha256_hex(state.root.string()).substr(0, hash_length));
  const std::string own = fmt::format("/run/user/{}", ::geteuid());
  return (is_private(own) ? own : "/tmp") + "/" + name;
}

bool is_short(const project::StateFolder& state, base::RunId run) {
  return run_socket_folder(state, run) != (state.runs() / run.text() / "door").string();
}

}  // namespace

std::string run_socket_folder(const project::StateFolder& state, base::RunId run) {
  const std::string plain = (state.runs() / run.text() / "door").string();
  if (plain.size() + std::string_view(socket_name).size() <= longest_name) return plain;
  return short_folder(state) + "/" + run.text();
}

std::string run_socket_path(const project::StateFolder& state, base::RunId run) {
  return run_socket_folder(state, run) + socket_name;
}

bool make_run_socket_folder(const project::StateFolder& state, base::RunId run) {
  if (is_short(state, run) && !make_private(short_folder(state))) return false;
  return make_private(run_socket_folder(state, run));
}

void remove_run_socket_folder(const project::StateFolder& state, base::RunId run) noexcept {
  ::unlink(run_socket_path(state, run).c_str());
  ::rmdir(run_socket_folder(state, run).c_str());
  // Succeeds only when it is empty.
  if (is_short(state, run)) ::rmdir(short_folder(state).c_str());
}

}  // namespace reeve::runtime
