#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "git/repository.h"
#include "tests/support/git_repository.h"

namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

class GitWorktree : public ::testing::Test {
 protected:
  std::string code_of(const auto& action) {
    try {
      action();
    } catch (const base::Error& error) {
      return error.code();
    }
    return "nothing thrown";
  }
  std::optional<std::string> snapshot(const std::string& message = "work") {
    return repository.snapshot(folder, first, message);
  }
  std::string names_in(const std::string& commit) {
    std::string names = made.git({"ls-tree", "-r", "--name-only", "-z", commit});
    std::ranges::replace(names, '\0', '|');
    return names;
  }

  GitRepository made;
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  std::string first = repository.get_head();
  fs::path folder = made.root() / ".worktrees" / "EX-9";
};

// ISO-1
TEST_F(GitWorktree, is_made_from_a_commit_and_locked) {
  made.write("file.txt", "changed by the person\n");
  repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
  EXPECT_EQ(made.git_in(folder, {"status", "--porcelain"}), "");
  EXPECT_EQ(made.git_in(folder, {"symbolic-ref", "HEAD"}), "refs/heads/reeve/EX-9");
  EXPECT_TRUE(testing::read_text(folder / "file.txt").starts_with("one\n"));
  const auto list = repository.list_worktrees();
  ASSERT_EQ(list.size(), 1);
  EXPECT_EQ(list[0].folder, folder);
  EXPECT_EQ(list[0].head, first);
  EXPECT_EQ(list[0].branch, "reeve/EX-9");
  EXPECT_EQ(list[0].lock_reason, "reeve EX-9");
  EXPECT_TRUE(list[0].is_ready && list[0].is_there);
  repository.remove_worktree(folder);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(repository.list_worktrees().empty());
  EXPECT_EQ(repository.find_ref("refs/heads/reeve/EX-9"), first);
  // Again, also on the branch, which exists by now.
  repository.remove_worktree(folder);
  repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
  EXPECT_EQ(made.git_in(folder, {"status", "--porcelain"}), "");
}

TEST_F(GitWorktree, a_branch_that_is_used_elsewhere_is_refused) {
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, first, "main", "reeve EX-9"); }), "git.branch_in_use");
  made.git({"branch", "reeve/EX-9"});
  const std::string second = made.commit("second");
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, second, "reeve/EX-9", "reeve EX-9"); }), "git.branch_in_use");
  made.git({"worktree", "add", "-q", made.beside("elsewhere").string(), "reeve/EX-9"});
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9"); }), "git.branch_in_use");
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(repository.list_worktrees().size(), 1);
}

// ISO-5
TEST_F(GitWorktree, symlinked_folder_is_refused) {
  fs::create_directories(made.beside("elsewhere/EX-9"));
  testing::ScratchFolder other;
  fs::create_directory_symlink(made.beside("elsewhere"), made.root() / ".worktrees");
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, first, std::nullopt, "reeve EX-9"); }), "git.unsafe_folder");
  EXPECT_EQ(code_of([&] { repository.remove_worktree(folder); }), "git.unsafe_folder");
  EXPECT_TRUE(fs::exists(made.beside("elsewhere/EX-9")));
  fs::remove(made.root() / ".worktrees");
  made.write(".worktrees", "a file");
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, first, std::nullopt, "reeve EX-9"); }), "git.unsafe_folder");
  fs::remove(made.root() / ".worktrees");

  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  fs::remove_all(folder);
  fs::create_directory_symlink(made.beside("elsewhere"), folder);
  EXPECT_EQ(code_of([&] { snapshot(); }), "git.unsafe_folder");
  EXPECT_EQ(code_of([&] { repository.reset(folder, first); }), "git.unsafe_folder");
  EXPECT_EQ(code_of([&] { repository.add_worktree(folder, first, std::nullopt, "reeve EX-9"); }), "git.unsafe_folder");
  repository.remove_worktree(folder);
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder)));
  EXPECT_TRUE(fs::exists(made.beside("elsewhere/EX-9")));
  EXPECT_EQ(code_of([&] { repository.remove_worktree(made.root()); }), "git.unsafe_folder");
}

TEST_F(GitWorktree, half_made_or_half_removed_worktree_is_recreated) {
  const fs::path own = made.root() / ".git" / "worktrees" / "EX-9";
  // Killed before git recorded which worktree it belongs to.
  fs::create_directories(own);
  made.write(".git/worktrees/EX-9/locked", "reeve EX-9");
  repository.remove_worktree(folder);
  EXPECT_FALSE(fs::exists(own));
  // Killed before the files were written.
  made.git({"worktree", "add", "-q", "--no-checkout", "--detach", "--lock", "--reason", "reeve EX-9", folder.string()});
  ASSERT_EQ(repository.list_worktrees().size(), 1);
  EXPECT_FALSE(repository.list_worktrees()[0].is_ready);
  repository.remove_worktree(folder);
  // The worktree's folder was deleted by hand.
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  fs::remove_all(folder);
  ASSERT_EQ(repository.list_worktrees().size(), 1);
  EXPECT_FALSE(repository.list_worktrees()[0].is_there);
  repository.remove_worktree(folder);
  EXPECT_TRUE(repository.list_worktrees().empty());
  // The repository's own folder was deleted instead.
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  fs::remove_all(own);
  repository.remove_worktree(folder);
  EXPECT_FALSE(fs::exists(folder));
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  EXPECT_TRUE(repository.list_worktrees()[0].is_ready);
}

TEST_F(GitWorktree, metadata_of_another_worktree_is_kept) {
  made.git({"worktree", "add", "-q", "--detach", made.beside("EX-9").string()});
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  repository.remove_worktree(folder);
  ASSERT_EQ(repository.list_worktrees().size(), 1);
  EXPECT_EQ(repository.list_worktrees()[0].folder, fs::canonical(made.beside("EX-9")));
  EXPECT_FALSE(repository.list_worktrees()[0].is_ready);
}

TEST_F(GitWorktree, removes_read_only_folders) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(".worktrees/EX-9/cache/deep/file", "x");
  ::chmod((folder / "cache/deep").c_str(), 0500);
  ::chmod((folder / "cache").c_str(), 0500);
  repository.remove_worktree(folder);
  EXPECT_FALSE(fs::exists(folder));
}

// From now on, permissions apply to all processes, including root and its children.
void obey_permissions() {
  for (const int power : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) ::prctl(PR_CAPBSET_DROP, power, 0, 0, 0);
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> powers = {};
  if (::syscall(SYS_capget, &header, powers.data()) != 0) return;
  const std::uint32_t dropped = (1U << CAP_DAC_OVERRIDE) | (1U << CAP_DAC_READ_SEARCH);
  powers[0].effective &= ~dropped;
  powers[0].permitted &= ~dropped;
  powers[0].inheritable &= ~dropped;
  ::syscall(SYS_capset, &header, powers.data());
}

// Like Go's module cache: git cannot remove anything in there.
TEST_F(GitWorktree, resets_and_removes_read_only_folders_without_root) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(".worktrees/EX-9/cache/deep/file", "x");
  made.write(".worktrees/EX-9/folder/inner.txt", "changed\n");
  for (const char* name : {"cache/deep", "cache", "folder"}) ::chmod((folder / name).c_str(), 0555);
  const pid_t child = ::fork();
  if (child == 0) {
    obey_permissions();
    try {
      repository.reset(folder, first);
      const bool is_back = !fs::exists(folder / "cache") && made.git_in(folder, {"status", "--porcelain"}).empty();
      made.write(".worktrees/EX-9/cache/deep/file", "x");
      for (const char* name : {"cache/deep", "cache", "folder"}) ::chmod((folder / name).c_str(), 0555);
      repository.remove_worktree(folder);
      ::_exit(is_back && !fs::exists(folder) ? 0 : 1);
    } catch (const base::Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(GitWorktree, snapshot_commits_everything_in_it) {
  repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
  EXPECT_FALSE(snapshot());
  const std::string odd = "sp ace\nline \xff";
  for (const std::string& name : {std::string("-dash"), odd, std::string("new/deep/file")}) {
    made.write(".worktrees/EX-9/" + name, "new\n");
  }
  made.write(".worktrees/EX-9/build.log", "ignored\n");
  fs::remove(folder / "file.txt");
  fs::remove_all(folder / "folder");
  fs::create_symlink("/etc/passwd", folder / "folder");
  fs::permissions(folder / ".gitignore", fs::perms::owner_exec, fs::perm_options::add);
  const auto commit = snapshot("EX-9: task\n\nwith a body");
  ASSERT_TRUE(commit);
  EXPECT_EQ(names_in(*commit), std::string("-dash|.gitignore|folder|new/deep/file|") + odd + '|');
  EXPECT_EQ(made.git({"log", "-1", "--format=%an <%ae>|%P|%B", *commit}),
            "Reeve <reeve@localhost>|" + first + "|EX-9: task\n\nwith a body\n");
  EXPECT_EQ(made.git({"ls-tree", *commit, ".gitignore"}).substr(0, 6), "100755");
  EXPECT_EQ(made.git({"cat-file", "blob", *commit + ":folder"}), "/etc/passwd");
  EXPECT_EQ(repository.find_ref("refs/heads/reeve/EX-9"), first);
  // Repeated: the same state, and nothing is staged in the worktree.
  EXPECT_EQ(made.git({"rev-parse", *snapshot() + "^{tree}"}), made.git({"rev-parse", *commit + "^{tree}"}));
  EXPECT_EQ(made.git_in(folder, {"diff", "--cached", "--name-only"}), "");
}

TEST_F(GitWorktree, later_snapshot_reflects_the_current_files) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(".worktrees/EX-9/out/result.o", "built\n");
  made.write(".worktrees/EX-9/gone.txt", "x\n");
  ASSERT_TRUE(snapshot());
  fs::remove(folder / "gone.txt");
  made.write(".worktrees/EX-9/.gitignore", "*.log\nout/\nfile.txt\n");
  const auto commit = snapshot();
  ASSERT_TRUE(commit);
  // Tracked files stay tracked, even if a pattern matches them.
  EXPECT_EQ(names_in(*commit), ".gitignore|file.txt|folder/inner.txt|");
}

TEST_F(GitWorktree, nested_repository_is_committed_as_a_folder) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  fs::create_directories(folder / "app/part");
  made.git_in(folder / "app", {"init", "-q"});
  made.git_in(folder / "app/part", {"init", "-q"});
  made.write(".worktrees/EX-9/app/main.c", "x");
  made.write(".worktrees/EX-9/app/trace.log", "x");
  made.write(".worktrees/EX-9/app/part/part.c", "x");
  fs::create_directories(folder / "with");
  made.git_in(folder / "with", {"init", "-q"});
  made.git_in(folder / "with", {"commit", "-q", "--allow-empty", "-m", "x"});
  made.write(".worktrees/EX-9/with/commits", "x");
  auto commit = snapshot();
  ASSERT_TRUE(commit);
  EXPECT_EQ(names_in(*commit), ".gitignore|app/main.c|app/part/part.c|file.txt|folder/inner.txt|with/commits|");
  made.write(".worktrees/EX-9/app/more.c", "x");
  commit = snapshot();
  EXPECT_NE(names_in(*commit).find("app/more.c"), std::string::npos);
  repository.reset(folder, first);
  EXPECT_FALSE(fs::exists(folder / "app"));
}

TEST_F(GitWorktree, commits_use_the_users_identity_and_ignores) {
  made.write("../home/.gitconfig",
             "[user]\n name = Ada\n email = ada@example.com\n[core]\n excludesFile = ~/ignored\n");
  made.write("../home/ignored", "*.swp\n");
  made.write(".git/info/exclude", "private\n");
  Repository again = *Repository::find(made.root(), made.beside("scratch"));
  again.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(".worktrees/EX-9/.file.swp", "x");
  made.write(".worktrees/EX-9/private", "x");
  EXPECT_FALSE(again.snapshot(folder, first, "work"));
  made.write(".worktrees/EX-9/new", "x");
  const auto commit = again.snapshot(folder, first, "work");
  EXPECT_EQ(made.git({"log", "-1", "--format=%an %ae %cn", *commit}), "Ada ada@example.com Ada");
}

TEST_F(GitWorktree, reset_restores_any_state) {
  repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
  made.git_in(folder, {"checkout", "-q", "-b", "mine"});
  made.write(".worktrees/EX-9/file.txt", "changed\n");
  made.write(".worktrees/EX-9/added/new", "x\n");
  made.write(".worktrees/EX-9/kept.log", "ignored\n");
  fs::remove(folder / "folder/inner.txt");
  made.git_in(folder, {"add", "-A"});
  made.git_in(folder, {"update-index", "--assume-unchanged", "file.txt"});
  made.write(".git/worktrees/EX-9/MERGE_HEAD", first + "\n");
  made.write(".git/worktrees/EX-9/index.lock", "");
  ASSERT_TRUE(snapshot());
  fs::remove(folder / ".git");
  fs::create_directory(folder / ".git");
  repository.reset(folder, first, "reeve/EX-9");
  EXPECT_EQ(made.git_in(folder, {"status", "--porcelain", "--branch"}), "## reeve/EX-9");
  EXPECT_FALSE(fs::exists(folder / "added"));
  EXPECT_TRUE(fs::exists(folder / "kept.log"));
  EXPECT_FALSE(snapshot());
  repository.reset(folder, first);
  EXPECT_EQ(made.git_in(folder, {"rev-parse", "--abbrev-ref", "HEAD"}), "HEAD");
  EXPECT_EQ(repository.list_worktrees()[0].head, first);
}

// An agent can mark files in its own index; its changes are found anyway.
TEST_F(GitWorktree, changes_hidden_in_the_index_are_found) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.git_in(folder, {"update-index", "--assume-unchanged", "file.txt"});
  made.git_in(folder, {"update-index", "--skip-worktree", "folder/inner.txt"});
  made.write(".worktrees/EX-9/file.txt", "hidden\n");
  made.write(".worktrees/EX-9/folder/inner.txt", "hidden\n");
  const auto commit = snapshot();
  ASSERT_TRUE(commit);
  EXPECT_EQ(repository.diff(first, *commit).files.size(), 2);
}

TEST_F(GitWorktree, works_without_its_saved_index) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(".worktrees/EX-9/file.txt", "changed\n");
  fs::remove_all(made.beside("scratch"));
  const auto commit = snapshot();
  ASSERT_TRUE(commit);
  EXPECT_EQ(repository.diff(first, *commit).files.size(), 1);
  fs::remove_all(made.beside("scratch"));
  repository.reset(folder, first);
  EXPECT_EQ(made.git_in(folder, {"status", "--porcelain"}), "");
}

// ISO-4, SPEC §7: the records of a copy name the worktrees of the original.
TEST_F(GitWorktree, copied_repository_does_not_own_the_worktrees_of_the_original) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  const fs::path work = folder / "unsaved.txt";
  std::ofstream(work) << "work";
  EXPECT_TRUE(repository.list_worktrees().at(0).is_own);
  const fs::path copied = made.beside("copied");
  fs::copy(made.root(), copied, fs::copy_options::recursive);
  // The state folder of the original is not known to the copy.
  Repository copy = *Repository::find(copied, made.beside("scratch-of-copy"));
  const auto listed = copy.list_worktrees();
  ASSERT_EQ(listed.size(), 1);
  EXPECT_EQ(listed[0].folder, folder);
  EXPECT_TRUE(listed[0].is_there);
  EXPECT_FALSE(listed[0].is_own);
  copy.forget_worktree(folder);
  EXPECT_TRUE(copy.list_worktrees().empty());
  EXPECT_TRUE(fs::exists(work));
  EXPECT_EQ(repository.list_worktrees().size(), 1);
  EXPECT_TRUE(fs::exists(copied / ".worktrees/EX-9/unsaved.txt"));
}

// A task may write the `.git` file of its worktree.
TEST_F(GitWorktree, worktree_beneath_the_checkout_stays_its_own) {
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  for (const char* text : {"gitdir: /nowhere\n", "", "nonsense"}) {
    std::ofstream(folder / ".git") << text;
    EXPECT_TRUE(repository.list_worktrees().at(0).is_own) << text;
  }
  made.git({"worktree", "add", "-q", "--detach", made.beside("elsewhere").string()});
  const auto elsewhere = [&] {
    for (const auto& worktree : repository.list_worktrees()) {
      if (worktree.folder == made.beside("elsewhere")) return worktree.is_own;
    }
    return false;
  };
  EXPECT_TRUE(elsewhere());
  std::ofstream(made.beside("elsewhere/.git")) << "gitdir: /nowhere\n";
  EXPECT_FALSE(elsewhere());
}

}  // namespace
}  // namespace reeve::git
