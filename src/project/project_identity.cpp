#include "project/project_identity.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "os/file.h"
#include "project/state_identity.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

// In the surrounding git folder, which git does not track. Empty if `.git` is a file or a symlink, which may point
// anywhere: such a project has no id.
fs::path id_file(const fs::path& project) {
  constexpr std::size_t digits = 16;
  for (fs::path folder = project; folder.has_relative_path(); folder = folder.parent_path()) {
    struct stat status{};
    const fs::path git = folder / ".git";
    if (::lstat(git.c_str(), &status) != 0) continue;
    // Sandboxes of agents leave empty folders of this name behind, which are not repositories.
    const bool is_empty = S_ISDIR(status.st_mode) && ::access((git / "HEAD").c_str(), F_OK) != 0;
    if (is_empty) continue;
    if (!S_ISDIR(status.st_mode)) return {};
    if (folder == project) return git / "reeve-id";
    // One repository may contain several projects.
    const std::string inner = project.lexically_relative(folder).string();
    return git / ("reeve-id-" + base::sha256_hex(inner).substr(0, digits));
  }
  return project / ".reeve" / "id";
}

std::optional<std::uint64_t> find_inode(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 ? std::optional(std::uint64_t{status.st_ino}) : std::nullopt;
}

std::optional<std::string> read_id(const fs::path& file) {
  const os::Fd opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t count = opened ? ::read(opened.get(), text.data(), text.size()) : 0;
  const std::string_view id =
      base::trim(std::string_view(text.data(), count > 0 ? static_cast<std::size_t>(count) : 0));
  return is_identity(id) ? std::optional(std::string(id)) : std::nullopt;
}

// In the form used by the registry.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path found = fs::canonical(path, error);
  return error ? path : found;
}

void give_id(const fs::path& project) {
  const Registry registry = Registry::open();
  const KnownPlace made{.kind = KnownPlace::Kind::project,
                        .id = make_identity(),
                        .path = project,
                        .inode = find_inode(project).value_or(0)};
  registry.write(made);
  os::replace_file(id_file(project), made.id + "\n");
}

// The registry's entry for the id in that file.
std::optional<KnownPlace> find_known(const fs::path& file, KnownPlace::Kind kind) {
  const auto id = read_id(file);
  const auto registry = id ? Registry::find() : std::nullopt;
  auto known = registry ? registry->find(*id) : std::nullopt;
  return known && known->kind == kind ? std::move(known) : std::nullopt;
}

fs::path id_file_of(const FoundPlace& place) {
  return place.kind == KnownPlace::Kind::project ? id_file(place.path) : place.path / "id";
}

FoundPlace find_place(KnownPlace::Kind kind, const fs::path& path) {
  FoundPlace found{.kind = kind, .path = path};
  found.known = find_known(id_file_of(found), kind);
  if (!found.known) return found;
  found.is_here = found.known->path == path && found.known->inode == find_inode(path);
  const FoundPlace original{.kind = kind, .path = found.known->path};
  found.has_original = !found.is_here && find_inode(found.known->path) == found.known->inode &&
                       read_id(id_file_of(original)) == found.known->id;
  return found;
}

}  // namespace

void admit_project(const fs::path& project) {
  const fs::path path = real_path(project);
  if (id_file(path).empty()) return;
  const FoundPlace found = find_place(KnownPlace::Kind::project, path);
  if (found.is_here) return;
  if (!found.known) {
    try {
      give_id(path);
    } catch (const Error& error) {
      // A read-only project, or a full disk: starting something there does not depend on the id.
      if (!error.is_in(base::ErrorArea::file)) throw;
    }
    return;
  }
  const bool is_same_path = found.known->path == path;
  throw Error(ErrorCode::project_moved,
              is_same_path ? fmt::format("the project {} is not the folder that was there before: was it restored or "
                                         "copied?",
                                         base::quoted(path.string()))
                           : fmt::format("the project {} is registered as {}: was it moved or copied?",
                                         base::quoted(path.string()), base::quoted(found.known->path.string())),
              fmt::format("reeve project moved {0}, or: reeve project copied {0}", path.string()));
}

std::vector<FoundPlace> find_places(const fs::path& folder) {
  const fs::path path = real_path(folder);
  std::vector<FoundPlace> found;
  std::error_code error;
  if (fs::is_directory(path / ".reeve", error)) {
    found.push_back(find_place(KnownPlace::Kind::project, path));
    const fs::path state = path / ".reeve" / "state";
    if (fs::is_directory(fs::symlink_status(state, error))) {
      found.push_back(find_place(KnownPlace::Kind::state, state));
    }
  } else {
    found.push_back(find_place(KnownPlace::Kind::state, path));
  }
  return found;
}

void note_moved(const FoundPlace& place) {
  KnownPlace known = place.known.value();
  known.path = place.path;
  known.inode = find_inode(place.path).value_or(0);
  Registry::open().write(known);
}

fs::path note_copied(const FoundPlace& place) {
  if (place.kind == KnownPlace::Kind::project) {
    give_id(place.path);
    return {};
  }
  // First, because no daemon may start here until it has its own id.
  const fs::path aside = set_state_aside(place.path);
  adopt_state_folder(place.path);
  return aside;
}

}  // namespace reeve::project
