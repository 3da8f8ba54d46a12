#include "runtime/gate/repository_fact.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <sys/stat.h>

#include "base/text.h"
#include "runtime/gate/real_path.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

// Of a `.git` file.
constexpr std::size_t max_git_file = 4'096 + 64;

bool exists(const std::string& path) {
  struct stat status{};
  // What cannot be looked at counts as there.
  return ::lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool is_folder(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_file(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// With HEAD and one of the others, the rest can be made while the command starts.
bool begins_like_repository(const std::string& folder) {
  if (!exists(folder + "/HEAD")) return false;
  for (const char* part : {"/objects", "/refs", "/commondir"}) {
    if (exists(folder + part)) return true;
  }
  return false;
}

// What "gitdir: PATH" names, without symlinks; empty if the file says anything else.
std::string read_git_file(const std::string& file, const std::string& folder) {
  constexpr std::string_view word = "gitdir: ";
  std::array<char, max_git_file> buffer{};
  std::ifstream in(file, std::ios::binary);
  in.read(buffer.data(), buffer.size());
  std::string_view text(buffer.data(), static_cast<std::size_t>(in.gcount()));
  if (text.size() == buffer.size() || !text.starts_with(word)) return {};
  text.remove_prefix(word.size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty() || text.contains('\0') || text.contains('\n')) return {};
  return follow_links(text.starts_with('/') ? std::string(text) : folder + "/" + std::string(text));
}

bool is_usable(const std::string& folder, const std::string& root) {
  const std::string git = folder + "/.git";
  if (is_folder(git)) return is_file(git + "/HEAD") && is_folder(git + "/objects") && is_folder(git + "/refs");
  if (!is_file(git)) return false;
  const std::string target = read_git_file(git, folder);
  return !target.empty() && !is_beneath(target, root) && is_file(target + "/HEAD");
}

}  // namespace

bool finds_own_repository(const std::string& folder, const std::string& root) {
  const bool is_inside = root.starts_with('/') && folder.starts_with('/') && is_beneath(folder, root);
  if (!is_inside) return false;
  for (fs::path at = folder;; at = at.parent_path()) {
    const std::string here = at.string();
    const bool is_between = here != root && is_beneath(here, root);
    // A usable `.git` comes before what is beside it; one below the worktree is another repository.
    if (exists(here + "/.git")) return !is_between && is_usable(here, root);
    if (begins_like_repository(here) || at == at.root_path()) return false;
  }
}

}  // namespace reeve::runtime
