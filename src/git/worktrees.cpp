#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/linked.h"
#include "git/repository.h"
#include "os/file.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

// The main checkout and the linked ones, as listed by git.
std::vector<Repository::Worktree> list_all(const GitContext& context) {
  std::vector<Repository::Worktree> found;
  constexpr std::string_view branches = "refs/heads/";
  for (const std::string& field :
       split_at_nul(demand(context.in_repository({"worktree", "list", "--porcelain", "-z"})))) {
    const std::size_t blank = std::min(field.find(' '), field.size());
    const std::string_view word = std::string_view(field).substr(0, blank);
    const std::string value = blank < field.size() ? field.substr(blank + 1) : "";
    if (word == "worktree") {
      found.push_back({.folder = value, .head = {}, .branch = {}, .lock_reason = {}});
    } else if (found.empty()) {
      continue;
    } else if (word == "HEAD") {
      found.back().head = value.find_first_not_of('0') == std::string::npos ? "" : value;
    } else if (word == "branch") {
      found.back().branch = value.starts_with(branches) ? value.substr(branches.size()) : value;
    } else if (word == "locked") {
      found.back().lock_reason = value.empty() ? "locked" : value;
    }
  }
  return found;
}

void check_branch(const GitContext& context, const std::string& branch, const std::string& commit) {
  for (const Repository::Worktree& worktree : list_all(context)) {
    if (worktree.branch != branch) continue;
    throw base::Error(ErrorCode::git_branch_in_use,
                      fmt::format("the branch {} is checked out in `{}`", base::quoted(branch),
                                  base::visible(worktree.folder.string())),
                      "switch to another branch there, or remove that worktree");
  }
  const auto found = context.resolve("refs/heads/" + branch);
  if (!found || found == commit) return;
  throw base::Error(ErrorCode::git_branch_in_use,
                    fmt::format("the branch {} already exists, at {}", base::quoted(branch), found->substr(0, 12)),
                    "rename or delete it: git branch -m " + branch + " NEW");
}

// An administrative folder left by a kill during creation: it does not say yet which worktree it belongs to.
bool is_stump_of(const fs::path& own, const fs::path& folder) {
  const std::string name = own.filename().string();
  const std::string wanted = folder.filename().string();
  const bool is_named_so =
      name.starts_with(wanted) && std::ranges::all_of(name.substr(wanted.size()), base::is_ascii_digit);
  std::error_code error;
  if (!is_named_so || fs::exists(own / "gitdir", error)) return false;
  const auto reason = os::find_file(own / "locked", base::limits::kib);
  return reason && reason->starts_with(own_reason);
}

void remove_own_parts(const GitContext& context, const fs::path& folder) {
  const fs::path all = context.place().common / "worktrees";
  std::error_code error;
  std::vector<fs::path> stumps;
  for (const auto& entry : fs::directory_iterator(all, error)) {
    if (is_stump_of(entry.path(), folder)) stumps.push_back(entry.path());
  }
  for (const fs::path& stump : stumps) fs::remove_all(stump, error);
  while (const auto own = find_own_part(context.place(), folder)) {
    fs::remove(context.index_of(own->filename().string()), error);
    if (remove_tree(*own)) continue;
    throw base::Error(ErrorCode::git_failed, fmt::format("cannot remove `{}`", base::visible(own->string())),
                      "check its permissions");
  }
  // Like git: removes the folder if it is empty.
  fs::remove(all, error);
}

}  // namespace

void Repository::add_worktree(const fs::path& folder, const std::string& commit,
                              const std::optional<std::string>& branch, const std::string& reason) {
  REEVE_ASSERT(folder.is_absolute() && reason.starts_with(own_reason));
  std::error_code error;
  fs::create_directory(folder.parent_path(), error);
  check_parent(folder);
  if (fs::symlink_status(folder, error).type() != fs::file_type::not_found) {
    throw base::Error(ErrorCode::git_unsafe_folder, fmt::format("`{}` already exists", base::visible(folder.string())),
                      "move it away; Reeve creates a worktree there");
  }
  if (branch) check_branch(*context_, *branch, commit);

  Call call = context_->in_repository({"worktree", "add", "--no-checkout", "--lock", "--reason", reason});
  if (!branch) {
    call.words.insert(call.words.end(), {"--detach", folder.string(), commit});
  } else if (find_ref("refs/heads/" + *branch)) {
    call.words.insert(call.words.end(), {folder.string(), *branch});
  } else {
    call.words.insert(call.words.end(), {"-b", *branch, folder.string(), commit});
  }
  try {
    demand(call);
    check_folder(folder);
    const fs::path own = get_own_part(context_->place(), folder);
    fs::remove(context_->index_of(own.filename().string()), error);
    os::replace_file(own / owner_marker, describe_owner(*context_));
    check_out(*context_, folder, own, commit);
    os::replace_file(own / ready_marker, "");
  } catch (const base::Error&) {
    // The first failure is reported.
    try {
      remove_worktree(folder);
    } catch (const base::Error&) {
    }
    throw;
  }
}

void Repository::remove_worktree(const fs::path& folder) {
  REEVE_ASSERT(folder.is_absolute());
  std::error_code error;
  if (fs::symlink_status(folder.parent_path(), error).type() != fs::file_type::not_found) {
    check_parent(folder);
    const auto inside = root().lexically_relative(folder.lexically_normal());
    if (!inside.empty() && *inside.begin() != "..") {
      throw base::Error(ErrorCode::git_unsafe_folder, fmt::format("`{}` is not a Reeve worktree", folder.string()));
    }
    if (!remove_tree(folder)) {
      throw base::Error(ErrorCode::git_failed, fmt::format("cannot remove `{}`", base::visible(folder.string())),
                        "check its permissions, and whether a process is using it");
    }
  }
  // Last: until then the worktree is listed, and can be removed again.
  remove_own_parts(*context_, folder);
}

void Repository::forget_worktree(const fs::path& folder) { remove_own_parts(*context_, folder); }

bool Repository::has_worktree(const fs::path& folder) {
  std::error_code error;
  const auto own = find_own_part(context_->place(), folder);
  return own && fs::exists(*own / ready_marker, error) && fs::is_directory(fs::symlink_status(folder, error));
}

std::optional<Repository::Worktree> Repository::find_main_checkout() {
  const Place& place = context_->place();
  if (place.own == place.common) return std::nullopt;
  const auto all = list_all(*context_);
  std::error_code error;
  const bool has_one =
      !all.empty() && all.front().folder != place.common && fs::exists(all.front().folder / ".git", error);
  return has_one ? std::optional(all.front()) : std::nullopt;
}

std::vector<Repository::Worktree> Repository::list_orphans() {
  std::vector<Worktree> orphans;
  for (Worktree& worktree : list_worktrees()) {
    const bool is_reeves = (worktree.lock_reason + ' ').starts_with(own_reason);
    const auto own = is_reeves ? find_own_part(context_->place(), worktree.folder) : std::nullopt;
    if (own && is_owner_gone(*own)) orphans.push_back(std::move(worktree));
  }
  return orphans;
}

std::vector<Repository::Worktree> Repository::list_worktrees() {
  std::vector<Worktree> found = list_all(*context_);
  // The first is the main checkout, or the bare repository.
  if (!found.empty()) found.erase(found.begin());
  for (Worktree& worktree : found) {
    std::error_code error;
    const auto own = find_own_part(context_->place(), worktree.folder);
    worktree.is_ready = own && fs::exists(*own / ready_marker, error);
    worktree.is_there = fs::is_directory(fs::symlink_status(worktree.folder, error));
    // Beneath this checkout it is this repository's, even if a task has changed its `.git` file.
    const bool is_inside = worktree.folder.parent_path().parent_path() == root();
    worktree.is_own = own && (is_inside || refers_back(worktree.folder, *own));
  }
  return found;
}

}  // namespace reeve::git
