#include "runtime/gate/call_facts.h"

#include <cstddef>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <climits>

#include "base/text.h"
#include "engine/call_gate.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

// Enough for the paths of a call; any beyond count as outside.
constexpr std::size_t max_looked_at = 64;
// More than any PATH that a person wrote.
constexpr std::size_t max_path_folders = 256;

// Resolves an absolute path like the kernel: `..` after a link is relative to its target, and dangling links are
// followed. Empty if that is not possible.
std::string follow_links(const std::string& path) {
  constexpr int max_links = 40;
  fs::path at = "/";
  std::deque<fs::path> rest;
  const auto put_first = [&](const fs::path& parts) { rest.insert(rest.begin(), parts.begin(), parts.end()); };
  put_first(fs::path(path).relative_path());
  for (int links = 0; !rest.empty();) {
    const fs::path part = rest.front();
    rest.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    std::error_code error;
    const fs::file_status status = fs::symlink_status(at / part, error);
    if (status.type() == fs::file_type::none) return {};
    if (!fs::is_symlink(status)) {
      at /= part;
      continue;
    }
    const fs::path target = fs::read_symlink(at / part, error);
    if (error || ++links > max_links) return {};
    if (target.is_absolute()) at = "/";
    put_first(target.relative_path());
  }
  return at.string();
}

// Whether a process of this user could change what stands there. Root can change everything: for root, as for sshd's
// StrictModes, what counts is whether anybody else could.
bool is_changeable(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return true;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return true;
  if (::geteuid() == 0) return status.st_uid != 0;
  return status.st_uid == ::geteuid() || ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

// Neither the file nor a folder above it can be changed.
bool is_replaceable(const std::string& file) {
  for (fs::path at = file;; at = at.parent_path()) {
    if (is_changeable(at.string())) return true;
    if (at == at.root_path()) return false;
  }
}

bool is_beneath(const std::string& path, const std::string& folder) {
  return folder.empty() || path == folder || path.starts_with(folder + "/");
}

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

// As a shell in `cwd` finds it, with symlinks resolved; empty if there is none. A relative entry of PATH, which means
// the folder that the run works in, ends the search: what it contains now says nothing about later.
std::string find_program(const std::string& name, const std::string& cwd, const std::string& path) {
  if (name.empty() || name.size() >= PATH_MAX) return {};
  if (name.contains('/')) {
    const std::string written = name.starts_with('/') ? name : cwd + "/" + name;
    const std::string real = follow_links(written);
    return !real.empty() && is_program(real) ? real : std::string();
  }
  std::size_t looked = 0;
  for (const std::string_view folder : base::split(path, ':')) {
    if (!folder.starts_with('/') || ++looked > max_path_folders) return {};
    const std::string candidate = std::string(folder) + "/" + name;
    if (candidate.size() < PATH_MAX && is_program(candidate)) return follow_links(candidate);
  }
  return {};
}

// Applies to paths that are written as if inside the folder; others are not resolved.
engine::CallPlace resolve_paths(const std::string& folder, const std::vector<std::string>& paths) {
  engine::CallPlace place{.folder = folder, .real_folder = {}, .real_paths = {}};
  if (folder.empty()) return place;
  place.real_folder = follow_links(folder);
  for (const std::string& path : paths) {
    if (!engine::locate_path(place, path).beneath) continue;
    const bool looks = place.real_paths.size() < max_looked_at && path.size() < PATH_MAX;
    const std::string written = path.starts_with('/') ? path : folder + "/" + path;
    place.real_paths.emplace(path, looks ? follow_links(written) : std::string());
  }
  return place;
}

engine::ProgramFact read_program(const std::string& name, const CallOrigin& origin, const std::string& cwd,
                                 const std::string& path) {
  engine::ProgramFact fact{.name = name, .path = find_program(name, cwd, path), .is_writable_by_run = true};
  if (fact.path.empty()) return fact;
  const std::string real_folder = follow_links(origin.folder);
  fact.is_writable_by_run =
      is_beneath(fact.path, real_folder) || is_beneath(fact.path, origin.folder) || is_replaceable(fact.path);
  return fact;
}

}  // namespace

engine::CallSubject read_call_subject(const CallOrigin& origin, std::string tool, base::Value arguments,
                                      std::string cwd, const std::string& path) {
  engine::CallSubject subject{.agent = origin.agent,
                              .role = origin.role,
                              .project = origin.project,
                              .tool = std::move(tool),
                              .arguments = std::move(arguments),
                              .cwd = std::move(cwd),
                              .place = {},
                              .channel = origin.channel,
                              .sandbox = origin.sandbox,
                              .program = {}};
  subject.place.folder = origin.folder;
  const engine::NeededFacts needed = engine::find_needed_facts(subject);
  subject.place = resolve_paths(origin.folder, needed.paths);
  if (needed.program) subject.program = read_program(*needed.program, origin, subject.cwd, path);
  return subject;
}

std::optional<engine::FolderIdentity> read_folder_identity(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return engine::FolderIdentity{.device = status.st_dev, .inode = status.st_ino};
}

}  // namespace reeve::runtime
