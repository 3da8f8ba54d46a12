#include <array>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/git_context.h"
#include "git/linked.h"
#include "os/file.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

// Whether a worktree that Reeve created counts as a checkout.
enum class OwnWorktrees { refused, accepted };

constexpr std::size_t longest_line = 8 * base::limits::kib;

std::optional<std::string> read_line(const fs::path& path) {
  const auto text = os::find_file(path, longest_line);
  return text ? std::optional<std::string>(base::trim(*text)) : std::nullopt;
}

std::optional<fs::path> find_canonical(const fs::path& path) {
  std::error_code error;
  fs::path found = fs::canonical(path, error);
  return error ? std::nullopt : std::optional(std::move(found));
}

bool has_objects(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "HEAD", error) && fs::is_directory(folder / "objects", error) &&
         fs::is_directory(folder / "refs", error);
}

// A linked worktree: `own` is in the repository's `worktrees` folder.
std::optional<Place> find_linked(const fs::path& root, const fs::path& own, const std::string& common_name,
                                 OwnWorktrees own_worktrees) {
  const auto common = find_canonical(fs::path(common_name).is_absolute() ? fs::path(common_name) : own / common_name);
  if (!common || !has_objects(*common)) return std::nullopt;
  // Any process that works in the worktree can write its `.git` file, so the repository must refer back to it.
  const auto back = read_line(own / "gitdir");
  if (!back || find_canonical(*back) != find_canonical(root / ".git") || own.parent_path() != *common / "worktrees") {
    throw base::Error(
        ErrorCode::git_unsafe_folder,
        fmt::format("`{}` names a repository that does not list this folder as a worktree", (root / ".git").string()),
        "if it was moved by hand, run: git worktree repair");
  }
  const auto reason = read_line(own / "locked");
  const bool is_reeves = reason && (*reason + ' ').starts_with(own_reason);
  if (is_reeves && own_worktrees == OwnWorktrees::refused) {
    throw base::Error(
        ErrorCode::git_unsafe_folder,
        fmt::format("`{}` is a worktree that Reeve created (`{}`) and will remove", root.string(), *reason),
        "work in the checkout it was created from");
  }
  return Place{.root = root, .own = own, .common = *common};
}

std::optional<Place> look_at(const fs::path& root, OwnWorktrees own_worktrees) {
  std::error_code error;
  const fs::path git = root / ".git";
  const auto status = fs::status(git, error);
  if (fs::is_directory(status)) {
    const auto own = find_canonical(git);
    return own && has_objects(*own) ? std::optional(Place{.root = root, .own = *own, .common = *own}) : std::nullopt;
  }
  constexpr std::string_view word = "gitdir: ";
  const auto text = fs::is_regular_file(status) ? read_line(git) : std::nullopt;
  if (!text || !text->starts_with(word)) return std::nullopt;
  const fs::path named = text->substr(word.size());
  const auto own = find_canonical(named.is_absolute() ? named : root / named);
  if (!own) return std::nullopt;
  if (const auto common = read_line(*own / "commondir")) {
    return find_linked(root, *own, *common, own_worktrees);
  }
  // A submodule, or a separate git folder.
  return has_objects(*own) ? std::optional(Place{.root = root, .own = *own, .common = *own}) : std::nullopt;
}

// Names in a git folder that lead elsewhere if they are symlinks, whether files or folders.
constexpr auto plain_names =
    std::to_array<const char*>({"objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/remotes",
                                "refs/tags", "packed-refs", "config", "info", "shallow"});
constexpr auto own_names = std::to_array<const char*>({"HEAD", "index", "commondir", "gitdir", "config.worktree"});

[[noreturn]] void refuse(const fs::path& folder, const char* why) {
  throw base::Error(ErrorCode::git_unsafe_folder, fmt::format("`{}` {}", base::visible(folder.string()), why));
}

// A process that works in the checkout may have written its `.git`: nothing in it may lead to another repository.
void check_plain(const Place& place) {
  std::error_code error;
  const auto git = fs::symlink_status(place.root / ".git", error);
  const bool is_main = fs::is_directory(git) && place.own == place.root / ".git";
  const bool is_linked = fs::is_regular_file(git) && place.own.parent_path() == place.common / "worktrees";
  if (!is_main && !is_linked) refuse(place.root / ".git", "is a symlink, or names a separate git folder");
  // In a git folder, this file names another one.
  if (is_main && fs::exists(fs::symlink_status(place.own / "commondir", error))) {
    refuse(place.own / "commondir", "names another repository");
  }
  for (const char* name : own_names) {
    if (fs::is_symlink(fs::symlink_status(place.own / name, error))) refuse(place.own / name, "is a symlink");
  }
  for (const char* name : plain_names) {
    if (fs::is_symlink(fs::symlink_status(place.common / name, error))) refuse(place.common / name, "is a symlink");
  }
  // With another repository's objects at hand, guessed hashes would show its files.
  const fs::path borrowed = place.common / "objects/info/alternates";
  if (fs::exists(fs::symlink_status(borrowed, error))) refuse(borrowed, "borrows objects from another repository");
}

}  // namespace

std::optional<Place> find_confined_place(const fs::path& folder) {
  const auto start = find_canonical(folder);
  for (auto at = start; at; at = at->parent_path()) {
    if (at->filename() == ".git") refuse(folder, "is inside a git folder");
    if (auto place = look_at(*at, OwnWorktrees::accepted)) {
      check_plain(*place);
      // A worktree without its `.git` file belongs to no other checkout around it.
      for (fs::path inner = *start; inner != *at; inner = inner.parent_path()) {
        if (find_own_part(*place, inner)) refuse(inner / ".git", "is missing");
      }
      return place;
    }
    if (*at == at->root_path()) break;
  }
  return std::nullopt;
}

std::optional<Place> find_place(const fs::path& folder) {
  auto at = find_canonical(folder);
  while (at) {
    // Inside a git folder there is no checkout.
    if (at->filename() != ".git") {
      if (auto place = look_at(*at, OwnWorktrees::refused)) return place;
    }
    if (*at == at->root_path()) break;
    at = at->parent_path();
  }
  return std::nullopt;
}

}  // namespace reeve::git
