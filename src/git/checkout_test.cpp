#include <gtest/gtest.h>

#include "base/error.h"
#include "git/repository.h"
#include "tests/support/git_repository.h"

namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

class GitCheckout : public ::testing::Test {
 protected:
  // A commit on top of HEAD, made in another worktree.
  std::string next(const std::vector<std::pair<std::string, std::string>>& files,
                   const std::vector<std::string>& removed = {}) {
    const fs::path folder = made.beside("elsewhere");
    fs::remove_all(folder);
    made.git({"worktree", "add", "-q", "-f", "--detach", folder.string()});
    for (const std::string& name : removed) fs::remove_all(folder / name);
    for (const auto& [name, text] : files) made.write(folder / name, text);
    made.git_in(folder, {"add", "-A", "-f"});
    made.git_in(folder, {"commit", "-q", "-m", "next"});
    std::string commit = made.git_in(folder, {"rev-parse", "HEAD"});
    made.git({"worktree", "remove", "--force", folder.string()});
    return commit;
  }
  std::string refusal(const std::string& commit) {
    try {
      repository.fast_forward(commit);
    } catch (const base::Error& error) {
      message = error.message();
      return error.code();
    }
    return "nothing thrown";
  }

  GitRepository made;
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  std::string first = repository.get_head();
  std::string message;
};

TEST_F(GitCheckout, status_reports_branch_dirty_files_and_operation) {
  auto status = repository.status();
  EXPECT_TRUE(status.dirty.empty() && status.untracked.empty() && !status.in_operation);
  EXPECT_EQ(status.branch, "main");
  EXPECT_EQ(status.head, first);
  made.write("file.txt", "changed\n");
  made.write("staged -> name", "x");
  made.git({"add", "staged -> name"});
  made.write("new/file", "x");
  made.write("trace.log", "ignored");
  made.write(".git/MERGE_HEAD", first);
  status = repository.status();
  EXPECT_EQ(status.dirty, (std::vector<std::string>{"file.txt", "staged -> name"}));
  EXPECT_EQ(status.untracked, std::vector<std::string>{"new/"});
  EXPECT_TRUE(status.in_operation);
  fs::remove(made.root() / ".git/MERGE_HEAD");
  made.git({"checkout", "-q", "--detach"});
  EXPECT_FALSE(repository.status().branch);
}

// ISO-3
TEST_F(GitCheckout, fast_forward_updates_files_and_branch) {
  const std::string commit = next({{"file.txt", "new\n"}, {"folder", "a file now\n"}, {"deep/new", "x\n"}}, {"folder"});
  made.write("mine.txt", "untracked\n");
  repository.fast_forward(commit);
  EXPECT_EQ(made.git({"rev-parse", "main"}), commit);
  EXPECT_EQ(made.git({"status", "--porcelain", "--branch"}), "## main\n?? mine.txt");
  EXPECT_EQ(made.read("folder"), "a file now\n");
  // Repeating it is harmless.
  repository.fast_forward(commit);
  made.git({"checkout", "-q", "--detach"});
  const std::string second = next({{"file.txt", "newer\n"}});
  repository.fast_forward(second);
  EXPECT_EQ(made.git({"rev-parse", "HEAD"}), second);
  EXPECT_EQ(made.git({"rev-parse", "main"}), commit);
}

TEST_F(GitCheckout, dirty_checkout_is_refused_and_unchanged) {
  const std::string commit = next({{"file.txt", "new\n"}});
  made.write("folder/inner.txt", "changed\n");
  EXPECT_EQ(refusal(commit), "git.dirty");
  EXPECT_NE(message.find("folder/inner.txt"), std::string::npos);
  EXPECT_EQ(made.git({"status", "--porcelain"}), " M folder/inner.txt");
  made.git({"checkout", "-q", "."});
  made.write(".git/CHERRY_PICK_HEAD", first);
  EXPECT_EQ(refusal(commit), "git.dirty");
  EXPECT_EQ(repository.get_head(), first);
}

// Also a file that git ignores, and would overwrite.
TEST_F(GitCheckout, fast_forward_keeps_untracked_files_in_the_way) {
  const std::string commit = next({{"new.txt", "theirs\n"}, {"secret.log", "theirs\n"}, {"place/inside", "x\n"}});
  for (const std::string name : {"new.txt", "secret.log", "place"}) {
    made.write(name, "mine\n");
    EXPECT_EQ(refusal(commit), "git.dirty") << name;
    EXPECT_EQ(made.read(name), "mine\n");
    EXPECT_EQ(repository.get_head(), first);
    fs::remove(made.root() / name);
  }
  made.write("new.txt/inside.log", "mine\n");
  EXPECT_EQ(refusal(commit), "git.dirty");
  EXPECT_EQ(made.read("new.txt/inside.log"), "mine\n");
  fs::remove_all(made.root() / "new.txt");
  repository.fast_forward(commit);
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
}

TEST_F(GitCheckout, diverged_checkout_is_not_moved) {
  const std::string commit = next({{"file.txt", "new\n"}});
  made.write("folder/inner.txt", "person\n");
  const std::string moved = made.commit("the person's");
  EXPECT_EQ(refusal(commit), "git.moved");
  EXPECT_EQ(repository.get_head(), moved);
}

TEST_F(GitCheckout, fast_forward_resumes_after_a_kill) {
  const std::string commit = next({{"file.txt", "new\n"}, {"added", "x\n"}});
  // Files and index are updated, the branch is not.
  made.git({"read-tree", "-m", "-u", first, commit});
  ASSERT_NE(made.git({"status", "--porcelain"}), "");
  repository.fast_forward(commit);
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_EQ(repository.get_head(), commit);
}

TEST_F(GitCheckout, locked_index_is_reported) {
  const std::string commit = next({{"file.txt", "new\n"}});
  made.write(".git/index.lock", "");
  EXPECT_EQ(refusal(commit), "git.index_locked");
  EXPECT_NE(message.find("index.lock"), std::string::npos) << message;
  EXPECT_TRUE(fs::exists(made.root() / ".git/index.lock")) << "the lock belongs to another git";
  EXPECT_EQ(repository.get_head(), first);
  EXPECT_TRUE(made.read("file.txt").starts_with("one\n"));
}

TEST_F(GitCheckout, failed_branch_update_restores_the_files) {
  const std::string commit = next({{"file.txt", "new\n"}, {"added", "x\n"}});
  made.write(".git/refs/heads/main.lock", "");
  EXPECT_EQ(refusal(commit), "git.failed");
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_TRUE(made.read("file.txt").starts_with("one\n"));
}

TEST_F(GitCheckout, sparse_and_split_index_checkouts_work) {
  made.git({"update-index", "--split-index"});
  made.git({"sparse-checkout", "set", "--no-cone", "/file.txt", "/.gitignore"});
  ASSERT_FALSE(fs::exists(made.root() / "folder"));
  Repository again = *Repository::find(made.root(), made.beside("scratch"));
  EXPECT_TRUE(again.status().dirty.empty());
  again.fast_forward(next({{"file.txt", "new\n"}}));
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_FALSE(fs::exists(made.root() / "folder"));
}

TEST_F(GitCheckout, shallow_clone_works) {
  made.commit("second");
  made.git({"clone", "-q", "--depth", "1", "file://" + made.root().string(), made.beside("clone").string()});
  Repository clone = *Repository::find(made.beside("clone"), made.beside("scratch"));
  const std::string head = clone.get_head();
  EXPECT_TRUE(clone.status().dirty.empty());
  const fs::path folder = clone.root() / ".worktrees" / "EX-1";
  clone.add_worktree(folder, head, "reeve/EX-1", "reeve EX-1");
  made.write(folder / "file.txt", "new\n");
  const auto commit = clone.snapshot(folder, head, "work");
  clone.fast_forward(*commit);
  EXPECT_EQ(testing::read_text(clone.root() / "file.txt"), "new\n");
}

}  // namespace
}  // namespace reeve::git
