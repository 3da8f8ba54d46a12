#include "project/state_retire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "os/write.h"
#include "project/project.h"
#include "project/state_folder.h"
#include "project/state_identity.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr int max_depth = 4;

[[noreturn]] void throw_copy(const fs::path& file) {
  base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot copy {}", base::quoted(file.string())), errno,
                    "is the disk full? Repeat the command to continue");
}

void copy_file(int from, int to, const char* name, const fs::path& shown) {
  const os::Fd source(::openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  // A socket, a pipe, or a link that was put there meanwhile.
  if (!source || ::fstat(source.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const os::Fd target(::openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target) throw_copy(shown / name);
  std::array<char, 1 << 16> block{};
  ssize_t count = 0;
  while ((count = ::read(source.get(), block.data(), block.size())) > 0) {
    if (!os::write_all(target.get(), {block.data(), static_cast<std::size_t>(count)})) throw_copy(shown / name);
  }
  if (count < 0 || ::fsync(target.get()) != 0) throw_copy(shown / name);
}

void copy_entries(int from, int to, const fs::path& shown, int depth) {
  const std::unique_ptr<DIR, decltype(&::closedir)> entries(
      ::fdopendir(::openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), ::closedir);
  if (!entries) throw_copy(shown);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this function's own.
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const os::Fd inner(::openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) {
      copy_file(from, to, name.c_str(), shown);
      continue;
    }
    if (depth == 0 || ::mkdirat(to, name.c_str(), 0700) != 0) continue;
    const os::Fd made(::openat(to, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!made) throw_copy(shown / name);
    copy_entries(inner.get(), made.get(), shown / name, depth - 1);
  }
}

}  // namespace

KnownPlace check_movable_state(const fs::path& root) {
  const auto project = StateFolder{root}.project();
  if (!project) {
    throw Error(ErrorCode::cli_usage,
                fmt::format("{} is not the own state folder of a project", base::quoted(root.string())),
                "name the `.reeve/state` of a project");
  }
  if (wants_own_state(*project)) {
    throw Error(ErrorCode::cli_usage,
                fmt::format("the config of {} says `state: project`", base::quoted(project->string())),
                "remove that line from .reeve/config.yaml, and move the state then");
  }
  KnownPlace place = check_state_folder(root);
  refuse_links(root, 3);
  check_database_files(place);
  return place;
}

void copy_run_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) return;
  const os::Fd source(::open(from.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  // Pruned, or of a run that printed nothing.
  if (!source) return;
  const fs::path draft = to.string() + ".moving";
  // Left behind by a move that was interrupted.
  fs::remove_all(draft, error);
  fs::create_directories(to.parent_path(), error);
  if (::mkdir(draft.c_str(), 0700) != 0) throw_copy(draft);
  const os::Fd target(::open(draft.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target) throw_copy(draft);
  copy_entries(source.get(), target.get(), from, max_depth);
  if (::rename(draft.c_str(), to.c_str()) != 0) throw_copy(to);
}

fs::path retire_state_folder(const KnownPlace& place) {
  std::string time = base::format_time(base::SystemClock().wall_now());
  std::ranges::replace(time, ':', '-');
  const fs::path aside = fmt::format("{}-moved-{}", place.path.string(), time);
  if (::rename(place.path.c_str(), aside.c_str()) != 0) {
    base::throw_errno(ErrorCode::file_unwritable, fmt::format("cannot rename {}", base::quoted(place.path.string())),
                      errno, "the records are in the common store; repeat the command");
  }
  Registry::open().forget(place.id);
  return aside;
}

}  // namespace reeve::project
