#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/forward.h"
#include "git/repository.h"

namespace reeve::git {

namespace {

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

// Of files and index against a commit, which need not be that of HEAD.
Changes compare(const Workshop& workshop, const std::optional<std::string>& commit) {
  // Submodules are compared by their commit: to look further is to run git with their config.
  Call call = workshop.ours_in_checkout(commit, {"status", "--porcelain=v1", "-z", "--untracked-files=normal",
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

// Files of the person that `to` would be written over: git keeps those that it does not ignore, this keeps all.
std::vector<std::string> find_in_the_way(const Workshop& workshop, const std::string& from, const std::string& to) {
  const auto names = [&](const char* filter) {
    return split_at_nul(demand(workshop.ours({"diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff",
                                              std::string("--diff-filter=") + filter, from, to})));
  };
  const auto list = names("D");
  const std::set<std::string> leaving(list.begin(), list.end());
  std::vector<std::string> found;
  const fs::path& root = workshop.place().root;
  std::error_code error;
  // Whatever stands where a folder has to be, or the file itself.
  const auto blocks = [&](const fs::path& name) {
    const auto status = fs::symlink_status(root / name, error);
    if (!fs::exists(status) || leaving.contains(name.string())) return false;
    if (!fs::is_directory(status)) return true;
    // A folder for a file: what of it stays?
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
  throw base::Error("git.dirty", std::move(message), std::move(fix));
}

// The index says what was done: it is put in its place when all files are written.
void recover(const Workshop& workshop, const Forward& left, const std::optional<std::string>& head) {
  remove_stale_lock(workshop, left);
  const auto side = find_side(workshop, left);
  if (side == Side::from) take_back_files(workshop, left);
  if (left.is_back && side == Side::from) return move_files(workshop, left);
  if (left.is_back || side != Side::to || head != left.from) return;
  demand(workshop.theirs({"update-ref", "-m", "reeve: fast-forward", "HEAD", left.to, left.from}));
}

// A git that fails or is killed over it leaves nothing half done as long as this process lives.
void move(const Workshop& workshop, const Forward& forward) {
  write_forward(workshop, forward);
  try {
    move_files(workshop, forward);
  } catch (const base::Error&) {
    // What failed first is told. What cannot be taken back now is when it is tried again.
    try {
      remove_stale_lock(workshop, forward);
      if (find_side(workshop, forward) == Side::from) take_back_files(workshop, forward);
      if (!forward.is_back) forget_forward(workshop);
    } catch (const base::Error&) {
    }
    throw;
  }
}

}  // namespace

Repository::Status Repository::status() {
  Status found;
  found.head = head();
  const Outcome branch = run(workshop_->theirs({"symbolic-ref", "--quiet", "--short", "HEAD"}));
  if (branch.code == 0) found.branch = base::replace_invalid_utf8(base::trim(branch.output));
  Changes changes = compare(*workshop_, found.head);
  found.dirty = std::move(changes.dirty);
  found.untracked = std::move(changes.untracked);
  found.in_operation = is_in_operation(workshop_->place().own);
  return found;
}

void Repository::fast_forward(const std::string& commit) {
  recover_checkout();
  const std::string from = get_head();
  if (!is_ancestor(from, commit)) {
    throw base::Error(
        "git.moved",
        fmt::format("the checkout is at {}, which {} does not build on", from.substr(0, 12), commit.substr(0, 12)),
        "merge it: git merge " + commit);
  }
  if (is_in_operation(workshop_->place().own)) {
    refuse_dirty("a merge, rebase or the like is under way in the checkout", "finish or abort it: git status");
  }
  const auto dirty = compare(*workshop_, from).dirty;
  // A kill between files and branch leaves files that are at `commit` already.
  const bool is_there_already = !dirty.empty() && compare(*workshop_, commit).dirty.empty();
  if (!is_there_already) {
    if (!dirty.empty()) refuse_dirty("the checkout has changes: " + tell(dirty), "commit or stash them: git stash");
    if (const auto found = find_in_the_way(*workshop_, from, commit); !found.empty()) {
      refuse_dirty("files that are not tracked are in the way: " + tell(found), "move them away");
    }
    move(*workshop_, make_forward(from, commit, false));
  }
  const Call call = workshop_->theirs({"update-ref", "-m", "reeve: fast-forward", "HEAD", commit, from});
  const Outcome outcome = run(call);
  if (outcome.code == 0) return forget_forward(*workshop_);
  move(*workshop_, make_forward(commit, from, true));
  forget_forward(*workshop_);
  if (head() == from) fail(call, outcome);
  throw base::Error("git.moved", "the checkout was moved to another commit meanwhile", "try again");
}

bool Repository::recover_checkout() {
  const auto left = find_forward(*workshop_);
  if (!left) return false;
  // Waits until a git that outlived its daemon is over.
  const auto now = head();
  recover(*workshop_, *left, now);
  forget_forward(*workshop_);
  return true;
}

std::vector<fs::path> Repository::list_half_done(const fs::path& scratch) { return list_forwards(scratch); }

}  // namespace reeve::git
