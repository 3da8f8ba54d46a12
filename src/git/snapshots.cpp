#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "git/linked.h"
#include "git/repository.h"
#include "os/file.h"

namespace reeve::git {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_inner_files = 200'000;

// Collects all files of a worktree in one index. Commands that would look into submodules with the submodules' own
// config (`add`, `commit`, plain `status`) are not used.
class Collection {
 public:
  Collection(const GitContext& context, const fs::path& worktree, const fs::path& index)
      : context_(context), worktree_(worktree), index_(index) {}

  // A second call finds nothing.
  void collect(const std::string& parent) {
    // Files that are gone, or now behind a symlink.
    update({"--force-remove"}, changed("D"));
    std::vector<std::string> taken = changed("d");
    for (std::string& name : ask({"ls-files", "-z", "--others", "--exclude-standard"})) {
      if (name.ends_with('/')) {
        add_inner(name, taken);
      } else {
        taken.push_back(std::move(name));
      }
    }
    update({"--add", "--remove", "--replace"}, taken);
    leave_out_ignored(parent);
  }
  std::string write_tree() { return std::string(base::trim(demand(call({"write-tree"})))); }

 private:
  Call call(std::vector<std::string> words) const {
    Call made = context_.sandboxed_in(worktree_, index_, std::move(words));
    made.limit = std::chrono::minutes(10);
    return made;
  }
  std::vector<std::string> ask(std::vector<std::string> words) const {
    return split_at_nul(demand(call(std::move(words))));
  }
  std::vector<std::string> changed(const std::string& filter) const {
    return ask(
        {"diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=dirty", "--diff-filter=" + filter});
  }
  void update(std::vector<std::string> how, const std::vector<std::string>& names) const {
    if (names.empty()) return;
    how.insert(how.begin(), "update-index");
    how.insert(how.end(), {"-z", "--stdin"});
    Call made = call(std::move(how));
    made.input = join_with_nul(names);
    demand(made);
  }

  // A repository created inside the worktree: git would store only its commit.
  void add_inner(const std::string& folder, std::vector<std::string>& taken) const {
    std::vector<std::string> names;
    std::vector<std::string> open = {folder};
    while (!open.empty()) {
      const std::string at = std::move(open.back());
      open.pop_back();
      std::error_code error;
      for (const auto& entry : fs::directory_iterator(worktree_ / at, error)) {
        const std::string name = entry.path().filename().string();
        if (name == ".git") continue;
        const auto status = entry.symlink_status(error);
        if (fs::is_directory(status)) {
          open.push_back(at + name + '/');
        } else if (fs::is_regular_file(status) || fs::is_symlink(status)) {
          names.push_back(at + name);
        }
      }
      if (names.size() > max_inner_files) {
        throw base::Error(base::ErrorCode::git_failed,
                          fmt::format("{} is a nested repository of more than {} files in the worktree",
                                      base::quoted(folder), max_inner_files),
                          "add it to .gitignore");
      }
    }
    Call made = call({"check-ignore", "-z", "--no-index", "--stdin"});
    // `./`, because a bare name could be read as a pattern.
    for (const std::string& name : names) made.input.append("./").append(name).push_back('\0');
    const Outcome outcome = names.empty() ? Outcome{.code = 1, .output = {}, .said = {}} : run(made);
    if (outcome.code > 1 || outcome.is_cut) fail(made, outcome);
    const auto found = split_at_nul(outcome.output);
    const std::set<std::string> ignored(found.begin(), found.end());
    std::ranges::copy_if(names, std::back_inserter(taken),
                         [&](const auto& name) { return !ignored.contains("./" + name); });
  }

  // Removes files that an earlier snapshot added and a newer .gitignore ignores; files of the parent stay tracked.
  void leave_out_ignored(const std::string& parent) const {
    const auto ignored = ask({"ls-files", "-z", "--cached", "--ignored", "--exclude-standard"});
    if (ignored.empty()) return;
    const auto found = ask({"diff-index", "-z", "--cached", "--name-only", "--no-renames", "--diff-filter=A", parent});
    const std::set<std::string> added(found.begin(), found.end());
    std::vector<std::string> gone;
    std::ranges::copy_if(ignored, std::back_inserter(gone), [&](const auto& name) { return added.contains(name); });
    update({"--force-remove"}, gone);
  }

  const GitContext& context_;
  fs::path worktree_;
  fs::path index_;
};

// Restores the `.git` file that points to the repository.
void restore_link(const fs::path& worktree, const fs::path& own) {
  const fs::path link = worktree / ".git";
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(link, error))) remove_tree(link);
  os::replace_file(link, fmt::format("gitdir: {}\n", own.string()));
}

void forget_operations(const fs::path& own) {
  constexpr auto traces = std::to_array({"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD",
                                         "REVERT_HEAD", "REBASE_HEAD", "BISECT_LOG", "BISECT_START", "rebase-merge",
                                         "rebase-apply", "sequencer", "HEAD.lock",
                                         // An agent could replace it with a symlink, and git would append to its
                                         // target.
                                         "logs"});
  for (const char* trace : traces) remove_tree(own / trace);
}

}  // namespace

std::optional<std::string> Repository::snapshot(const fs::path& worktree, const std::string& parent,
                                                const std::string& message) {
  check_folder(worktree);
  const std::string name = get_own_part(context_->place(), worktree).filename().string();
  const fs::path index = context_->make_index_name(name);
  std::error_code error;
  const auto kept = context_->index_of(name);
  if (fs::exists(kept, error)) {
    copy_index(kept, index);
  } else {
    demand(context_->sandboxed_in(worktree, index, {"read-tree", parent}));
  }
  Collection collection(*context_, worktree, index);
  collection.collect(parent);
  const std::string tree = collection.write_tree();
  fs::rename(index, kept, error);
  if (tree == context_->tree_of(parent)) return std::nullopt;
  return context_->commit_tree(tree, {parent}, message);
}

void Repository::reset(const fs::path& worktree, const std::string& commit, const std::optional<std::string>& branch) {
  check_folder(worktree);
  const fs::path own = get_own_part(context_->place(), worktree);
  const auto put_back = [&] {
    restore_link(worktree, own);
    check_out(*context_, worktree, own, commit);
    Call clean = context_->sandboxed_in(worktree, own / "index", {"clean", "-ffdq"});
    clean.limit = std::chrono::minutes(10);
    demand(clean);
  };
  try {
    put_back();
  } catch (const base::Error&) {
    // Tools make folders read-only, and git cannot remove files from those.
    make_writable(worktree);
    put_back();
  }
  forget_operations(own);
  if (branch) {
    demand(context_->in_repository_at(own, {"symbolic-ref", "-m", "reeve", "HEAD", "refs/heads/" + *branch}));
  } else {
    demand(context_->in_repository_at(own, {"update-ref", "--no-deref", "-m", "reeve", "HEAD", commit}));
  }
}

void Repository::reset_files(const fs::path& worktree, const std::string& files, const std::string& head) {
  reset(worktree, files);
  if (files == head) return;
  const fs::path own = get_own_part(context_->place(), worktree);
  const fs::path index = context_->make_index_name(own.filename().string());
  demand(context_->sandboxed_in(worktree, index, {"read-tree", head}));
  copy_index(index, own / "index");
  std::error_code error;
  fs::remove(index, error);
  demand(context_->in_repository_at(own, {"update-ref", "--no-deref", "-m", "reeve", "HEAD", head}));
}

}  // namespace reeve::git
