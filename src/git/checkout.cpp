#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/checkout_update_journal.h"
#include "git/repository.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

constexpr std::size_t names_told = 5;

bool is_in_operation(const fs::path& own) {
  constexpr auto traces = std::to_array(
      {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "sequencer"});
  return std::ranges::any_of(traces, [&](const char* trace) {
    std::error_code error;
    return fs::exists(own / trace, error);
  });
}

struct Changes {
  std::vector<std::string> dirty;
  std::vector<std::string> untracked;
};

// Compares files and index with a commit, which need not be HEAD.
Changes compare(const GitContext& context, const std::optional<std::string>& commit) {
  // Submodules are compared by commit only: looking inside would run git with their config.
  Call call = context.sandboxed_in_checkout(commit, {"status", "--porcelain=v1", "-z", "--untracked-files=normal",
                                                     "--ignore-submodules=dirty", "--no-renames"});
  call.limit = std::chrono::minutes(5);
  Changes changes;
  for (const std::string& entry : split_at_nul(demand(call))) {
    if (entry.size() < 4) continue;
    auto& list = entry.starts_with("??") ? changes.untracked : changes.dirty;
    list.push_back(base::replace_invalid_utf8(entry.substr(3)));
  }
  return changes;
}

std::string tell(const std::vector<std::string>& names) {
  std::vector<std::string> told;
  for (const std::string& name : names) {
    if (told.size() == names_told) {
      told.push_back(fmt::format("{} more", names.size() - names_told));
      break;
    }
    told.push_back(base::quoted(name));
  }
  return base::join(told, ", ");
}

// User files that moving to `to` would overwrite: git protects only those that are not ignored, this protects all.
std::vector<std::string> find_in_the_way(const GitContext& context, const std::string& from, const std::string& to) {
  const auto names = [&](const char* filter) {
    return split_at_nul(demand(context.sandboxed({"diff-tree", "-r", "-z", "--name-only", "--no-renames",
                                                  "--no-ext-diff", std::string("--diff-filter=") + filter, from, to})));
  };
  const auto list = names("D");
  const std::set<std::string> leaving(list.begin(), list.end());
  std::vector<std::string> found;
  const fs::path& root = context.place().root;
  std::error_code error;
  // A path is blocked by the file itself, or by anything in the place of one of its folders.
  const auto blocks = [&](const fs::path& name) {
    const auto status = fs::symlink_status(root / name, error);
    if (!fs::exists(status) || leaving.contains(name.string())) return false;
    if (!fs::is_directory(status)) return true;
    // A folder in the place of a file: does any of its content remain?
    for (auto entry = fs::recursive_directory_iterator(root / name, error); entry != fs::end(entry);
         entry.increment(error)) {
      const bool is_folder = fs::is_directory(entry->symlink_status(error));
      if (!is_folder && !leaving.contains(entry->path().lexically_relative(root).string())) return true;
    }
    return false;
  };
  for (const std::string& name : names("A")) {
    bool is_blocked = blocks(name);
    for (fs::path above = fs::path(name).parent_path(); !is_blocked && !above.empty(); above = above.parent_path()) {
      const auto status = fs::symlink_status(root / above, error);
      is_blocked = fs::exists(status) && !fs::is_directory(status) && !leaving.contains(above.string());
    }
    if (is_blocked) found.push_back(base::replace_invalid_utf8(name));
  }
  return found;
}

[[noreturn]] void refuse_dirty(std::string message, std::string fix) {
  throw base::Error(ErrorCode::git_dirty, std::move(message), std::move(fix));
}

// The index shows how far the update came: it is renamed into place after all files are written.
void recover(const GitContext& context, const CheckoutUpdateJournal& left, const std::optional<std::string>& head) {
  remove_stale_lock(context, left);
  const auto side = find_side(context, left);
  if (side == Side::from) take_back_files(context, left);
  if (left.is_back && side == Side::from) return move_files(context, left);
  if (left.is_back || side != Side::to || head != left.from) return;
  demand(context.in_repository({"update-ref", "-m", "reeve: fast-forward", "HEAD", left.to, left.from}));
}

// If git fails or is killed, the update is reverted, unless this process is killed too.
void move(const GitContext& context, const CheckoutUpdateJournal& journal) {
  write_journal(context, journal);
  try {
    move_files(context, journal);
  } catch (const base::Error&) {
    // The first failure is reported. Files that cannot be reverted now are reverted at the next attempt.
    try {
      remove_stale_lock(context, journal);
      if (find_side(context, journal) == Side::from) take_back_files(context, journal);
      if (!journal.is_back) forget_forward(context);
    } catch (const base::Error&) {
    }
    throw;
  }
}

}  // namespace

Repository::Status Repository::status() {
  Status found;
  found.head = head();
  const Outcome branch = run(context_->in_repository({"symbolic-ref", "--quiet", "--short", "HEAD"}));
  if (branch.code == 0) found.branch = base::replace_invalid_utf8(base::trim(branch.output));
  Changes changes = compare(*context_, found.head);
  found.dirty = std::move(changes.dirty);
  found.untracked = std::move(changes.untracked);
  found.in_operation = is_in_operation(context_->place().own);
  return found;
}

void Repository::fast_forward(const std::string& commit) {
  recover_checkout();
  const std::string from = get_head();
  if (!is_ancestor(from, commit)) {
    throw base::Error(
        ErrorCode::git_moved,
        fmt::format("the checkout is at {}, which is not an ancestor of {}", from.substr(0, 12), commit.substr(0, 12)),
        "merge it: git merge " + commit);
  }
  if (is_in_operation(context_->place().own)) {
    refuse_dirty("a merge, rebase or similar operation is in progress in the checkout",
                 "finish or abort it: git status");
  }
  const auto dirty = compare(*context_, from).dirty;
  // A kill after the files and before the branch leaves the files already at `commit`.
  const bool is_there_already = !dirty.empty() && compare(*context_, commit).dirty.empty();
  if (!is_there_already) {
    if (!dirty.empty())
      refuse_dirty("the checkout has uncommitted changes: " + tell(dirty), "commit or stash them: git stash");
    if (const auto found = find_in_the_way(*context_, from, commit); !found.empty()) {
      refuse_dirty("untracked files are in the way: " + tell(found), "move them away");
    }
    move(*context_, make_journal(from, commit, false));
  }
  const Call call = context_->in_repository({"update-ref", "-m", "reeve: fast-forward", "HEAD", commit, from});
  const Outcome outcome = run(call);
  if (outcome.code == 0) return forget_forward(*context_);
  move(*context_, make_journal(commit, from, true));
  forget_forward(*context_);
  if (head() == from) fail(call, outcome);
  throw base::Error(ErrorCode::git_moved, "the checkout moved to another commit in the meantime", "try again");
}

bool Repository::recover_checkout() {
  const auto left = find_journal(*context_);
  if (!left) return false;
  // Waits for a git that outlived its daemon.
  const auto now = head();
  recover(*context_, *left, now);
  forget_forward(*context_);
  return true;
}

std::vector<fs::path> Repository::list_half_done(const fs::path& scratch) { return list_forwards(scratch); }

}  // namespace reeve::git
