#include "git/repository.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/git_repository.h"

namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

Repository open(const GitRepository& made) { return *Repository::find(made.root(), made.beside("scratch")); }

std::string code_of(const auto& action) {
  try {
    action();
  } catch (const base::Error& error) {
    return error.code();
  }
  return "nothing thrown";
}

TEST(GitRepository, is_found_from_any_folder_of_its_checkout) {
  const GitRepository made;
  EXPECT_EQ(Repository::find(made.root() / "folder", made.beside("scratch"))->root(), made.root());
  fs::create_symlink(made.root() / "folder", made.beside("link"));
  EXPECT_EQ(Repository::find(made.beside("link"), made.beside("scratch"))->root(), made.root());
  EXPECT_FALSE(Repository::find(made.beside("home"), made.beside("scratch")));
  EXPECT_FALSE(Repository::find(made.beside("nothing"), made.beside("scratch")));
}

TEST(GitRepository, missing_commits_are_reported) {
  const GitRepository made(GitRepository::Empty{});
  Repository repository = open(made);
  EXPECT_FALSE(repository.head());
  EXPECT_EQ(code_of([&] { repository.get_head(); }), "git.no_commits");
  made.write("new.txt", "x");
  made.git({"add", "new.txt"});
  const auto status = repository.status();
  EXPECT_FALSE(status.head);
  EXPECT_EQ(status.branch, "main");
  EXPECT_EQ(status.dirty, std::vector<std::string>{"new.txt"});
}

// A bare repository that was committed as plain files.
TEST(GitRepository, bare_repository_is_not_used) {
  const GitRepository made;
  made.git({"init", "-q", "--bare", "embedded"});
  EXPECT_EQ(Repository::find(made.root() / "embedded", made.beside("scratch"))->root(), made.root());
  made.git({"init", "-q", "--bare", made.beside("bare").string()});
  EXPECT_FALSE(Repository::find(made.beside("bare"), made.beside("scratch")));
}

TEST(GitRepository, linked_worktree_is_a_separate_checkout) {
  const GitRepository made;
  made.git({"worktree", "add", "-q", "-b", "other", made.beside("linked").string()});
  const fs::path linked = fs::canonical(made.beside("linked"));
  Repository repository = *Repository::find(linked, made.beside("scratch"));
  EXPECT_EQ(repository.root(), linked);
  EXPECT_EQ(repository.status().branch, "other");
  std::string commit = made.git_in(linked, {"commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "next"});
  repository.fast_forward(commit);
  EXPECT_EQ(made.git({"rev-parse", "other"}), commit);
  EXPECT_NE(made.git({"rev-parse", "main"}), commit);
}

TEST(GitRepository, worktree_made_by_reeve_is_refused) {
  const GitRepository made;
  Repository repository = open(made);
  const fs::path folder = made.root() / ".worktrees" / "EX-9";
  repository.add_worktree(folder, repository.get_head(), std::nullopt, "reeve EX-9");
  EXPECT_EQ(code_of([&] { Repository::find(folder, made.beside("scratch")); }), "git.unsafe_folder");
}

// ISO-5
TEST(GitRepository, git_file_naming_a_foreign_repository_is_refused) {
  const GitRepository made;
  made.git({"worktree", "add", "-q", "--detach", made.beside("linked").string()});
  made.git({"worktree", "add", "-q", "--detach", made.beside("victim").string()});
  std::filesystem::remove(made.beside("linked") / ".git");
  fs::copy_file(made.beside("victim") / ".git", made.beside("linked") / ".git");
  EXPECT_EQ(code_of([&] { Repository::find(made.beside("linked"), made.beside("scratch")); }), "git.unsafe_folder");
}

TEST(GitRepository, ref_changes_only_from_the_expected_value) {
  const GitRepository made;
  Repository repository = open(made);
  const std::string first = repository.get_head();
  const std::string second = made.commit("second");
  const std::string ref = "refs/reeve/EX-9/task";
  EXPECT_FALSE(repository.find_ref(ref));
  EXPECT_FALSE(repository.set_ref(ref, second, first));
  EXPECT_TRUE(repository.set_ref(ref, first, std::nullopt));
  EXPECT_FALSE(repository.set_ref(ref, second, std::nullopt));
  EXPECT_TRUE(repository.set_ref(ref, second, first));
  EXPECT_FALSE(repository.set_ref(ref, first, first));
  EXPECT_EQ(repository.find_ref(ref), second);
  EXPECT_FALSE(repository.delete_ref(ref, first));
  EXPECT_TRUE(repository.delete_ref(ref, second));
  EXPECT_TRUE(repository.delete_ref(ref, second));
  EXPECT_FALSE(repository.find_ref(ref));
  EXPECT_EQ(code_of([&] { repository.set_ref(ref, std::string(40, '1'), std::nullopt); }), "git.failed");
}

TEST(GitRepository, missing_git_names_the_package_to_install) {
  const GitRepository made;
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", made.home().c_str(), 1);
  std::string fix;
  const std::string code = code_of([&] {
    try {
      open(made);
    } catch (const base::Error& error) {
      fix = error.fix();
      throw;
    }
  });
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(code, "git.missing");
  EXPECT_EQ(fix, "install it: apt install git");
}

TEST(GitRepository, newer_format_is_reported_with_gits_message) {
  const GitRepository made;
  made.git({"config", "core.repositoryformatversion", "99"});
  try {
    open(made).head();
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.code(), "git.failed");
    EXPECT_NE(error.message().find("99"), std::string::npos) << error.message();
  }
}

TEST(GitRepository, sha256_repository_works) {
  const GitRepository made(GitRepository::Empty{});
  fs::remove_all(made.root() / ".git");
  made.git({"init", "-q", "--object-format=sha256"});
  made.write("a.txt", "a");
  const std::string first = made.commit("first");
  ASSERT_EQ(first.size(), 64);
  Repository repository = open(made);
  const fs::path folder = made.root() / ".worktrees" / "EX-9";
  repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
  made.write(".worktrees/EX-9/b.txt", "b");
  const auto commit = repository.snapshot(folder, first, "work");
  ASSERT_TRUE(commit);
  EXPECT_EQ(made.git({"show", *commit + ":b.txt"}), "b");
}

}  // namespace
}  // namespace reeve::git
