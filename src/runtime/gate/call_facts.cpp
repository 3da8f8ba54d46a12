#include "runtime/gate/call_facts.h"

#include <algorithm>
#include <cstddef>
#include <fcntl.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <climits>

#include "base/text.h"
#include "engine/call_gate.h"
#include "engine/shell_call.h"
#include "runtime/gate/real_path.h"
#include "runtime/gate/repository_fact.h"
#include "runtime/gate/secret_scan.h"

namespace reeve::runtime {

namespace {

// Enough for the paths of a call; any beyond count as outside.
constexpr std::size_t max_looked_at = 64;
// More than any PATH that a person wrote.
constexpr std::size_t max_path_folders = 256;

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

engine::ProgramFact read_program(const std::string& name, const CallOrigin& origin, const std::string& real_folder,
                                 const std::string& cwd, const std::string& path) {
  engine::ProgramFact fact{.name = name, .path = find_program(name, cwd, path), .is_writable_by_run = true};
  if (fact.path.empty()) return fact;
  fact.is_writable_by_run =
      is_beneath(fact.path, real_folder) || is_beneath(fact.path, origin.folder) || is_replaceable(fact.path);
  return fact;
}

// `--file=NAME` names a file too.
std::string_view find_named_file(std::string_view word) {
  if (!word.starts_with('-')) return word;
  const std::size_t equals = word.find('=');
  return equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
}

// Words that name existing files which the run can write.
std::vector<std::string> find_writable_files(const std::vector<std::string>& argv, const std::string& real_folder,
                                             const std::string& cwd) {
  std::vector<std::string> files;
  std::size_t looked = 0;
  for (const std::string& word : argv) {
    const std::string_view name = find_named_file(word);
    if (name.empty() || name.size() + cwd.size() + 1 >= PATH_MAX || ++looked > max_looked_at) continue;
    const std::string real = follow_links(name.starts_with('/') ? std::string(name) : cwd + "/" + std::string(name));
    struct stat status{};
    const bool is_file = !real.empty() && ::stat(real.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    const bool is_known = std::ranges::find(files, name) != files.end();
    if (is_file && !is_known && (is_beneath(real, real_folder) || is_replaceable(real))) files.emplace_back(name);
  }
  return files;
}

std::set<std::string> find_secret_reads(const std::vector<engine::ReadScope>& scopes, const CallOrigin& origin,
                                        const std::string& real_folder) {
  std::set<std::string> found;
  SecretScan scan(real_folder);
  std::size_t looked = 0;
  for (const engine::ReadScope& scope : scopes) {
    const std::string written = scope.folder.starts_with('/') ? scope.folder : origin.folder + "/" + scope.folder;
    const bool looks = ++looked <= max_looked_at && written.size() < PATH_MAX && !real_folder.empty();
    const std::string real = looks ? follow_links(written) : std::string();
    struct stat status{};
    // A path that is not there, or outside, is judged as a path.
    const bool is_folder = ::stat(real.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
    const bool is_open = is_folder && is_beneath(real, real_folder);
    if (!looks || (is_open && scan.finds_any(real))) found.insert(scope.path);
  }
  return found;
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
  if (subject.tool == "shell_execute") {
    subject.cwd = engine::find_working_folder(subject.arguments, subject.cwd).value_or(subject.cwd);
  }
  subject.place.folder = origin.folder;
  const engine::NeededFacts needed = engine::find_needed_facts(subject);
  subject.place = resolve_paths(origin.folder, needed.paths);
  const std::string& real_folder = subject.place.real_folder;
  if (!origin.is_hosted) subject.place.may_hold_secrets = find_secret_reads(needed.reads, origin, real_folder);
  if (needed.argv.empty()) return subject;
  subject.program = read_program(needed.argv.front(), origin, real_folder, subject.cwd, path);
  subject.writable_files = find_writable_files(needed.argv, real_folder, subject.cwd);
  subject.finds_own_repository = finds_own_repository(follow_links(subject.cwd), real_folder);
  return subject;
}

std::optional<engine::FolderIdentity> read_folder_identity(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  return engine::FolderIdentity{.device = status.st_dev, .inode = status.st_ino};
}

}  // namespace reeve::runtime
