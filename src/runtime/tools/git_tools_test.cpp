#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "git/repository.h"
#include "tests/support/files.h"
#include "tests/support/git_repository.h"
#include "tests/support/hosted_call.h"

namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;
using ::testing::HasSubstr;
using testing::HostedTools;
using ::testing::Not;

class GitTools : public ::testing::Test {
 protected:
  GitTools() {
    made.git({"config", "user.name", "Agent Smith"});
    made.git({"config", "user.email", "smith@example.com"});
  }
  std::string staged() const { return made.git({"diff", "--cached", "--name-only"}); }
  // Nothing of a call is left in the scratch folder.
  bool is_scratch_empty() const { return fs::is_empty(made.beside("scratch")); }

  GitRepository made;
  HostedTools tools{made.root(), made.beside("scratch")};
};

TEST_F(GitTools, differences_are_shown_as_patches) {
  EXPECT_EQ(tools.run("git_diff", "{}"), "[no differences]\n");
  made.write("file.txt", "one\nTWO\nthree\nfour\nfive\nsix\nseven\n");
  fs::remove(made.root() / "folder/inner.txt");
  const std::string patch = tools.run("git_diff", "{}");
  EXPECT_THAT(patch, HasSubstr("-two\n+TWO\n"));
  EXPECT_THAT(patch, HasSubstr("deleted file mode 100644"));
  EXPECT_EQ(tools.run("git_diff", R"({"paths": ["file.txt", "folder"]})"), patch);
  EXPECT_THAT(tools.run("git_diff", R"({"paths": ["file.txt"]})"), Not(HasSubstr("inner.txt")));
  EXPECT_EQ(tools.run("git_diff", R"({"staged": true})"), "[no differences]\n");
  made.git({"add", "-A"});
  EXPECT_EQ(tools.run("git_diff", "{}"), "[no differences]\n");
  EXPECT_EQ(tools.run("git_diff", R"({"staged": true})"), patch);
  EXPECT_EQ(tools.run("git_diff", R"({"against": "HEAD"})"), patch);
  made.commit("second");
  EXPECT_EQ(tools.run("git_diff", R"({"against": "HEAD~1"})"), patch);
  // Only the time has changed.
  made.write("file.txt", made.read("file.txt"));
  EXPECT_EQ(tools.run("git_diff", "{}"), "[no differences]\n");
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_TRUE(is_scratch_empty());
}

TEST_F(GitTools, symlinks_and_modes_are_shown_but_not_followed) {
  made.write("../outside/secret", "the secret\n");
  fs::remove(made.root() / "file.txt");
  fs::create_symlink(made.beside("outside/secret"), made.root() / "file.txt");
  ::chmod((made.root() / "folder/inner.txt").c_str(), 0755);
  const std::string patch = tools.run("git_diff", "{}");
  EXPECT_THAT(patch, HasSubstr("new file mode 120000"));
  EXPECT_THAT(patch, HasSubstr("new mode 100755"));
  EXPECT_THAT(patch, Not(HasSubstr("the secret")));
  tools.run("git_add", R"({"paths": ["file.txt"]})");
  EXPECT_THAT(made.git({"ls-files", "-s", "file.txt"}), HasSubstr("120000"));
}

// TOOL-4: the same files that file_read refuses.
TEST_F(GitTools, special_files_and_hard_links_are_left_out) {
  made.write("../outside/secret", "the secret\n");
  fs::remove(made.root() / "file.txt");
  fs::create_hard_link(made.beside("outside/secret"), made.root() / "file.txt");
  fs::remove(made.root() / "folder/inner.txt");
  ASSERT_EQ(::mkfifo((made.root() / "folder/inner.txt").c_str(), 0600), 0);
  const std::string patch = tools.run("git_diff", "{}");
  EXPECT_THAT(patch, Not(HasSubstr("the secret")));
  EXPECT_THAT(patch, HasSubstr("[`file.txt` was left out: cannot open `file.txt`: it has several hard links"));
  EXPECT_THAT(patch, HasSubstr("[`folder/inner.txt` was left out: "));
  EXPECT_THAT(tools.refuse("git_add", R"({"paths": ["."]})"), HasSubstr("nothing was staged"));
  EXPECT_EQ(staged(), "");
}

TEST_F(GitTools, a_diff_shows_secret_files_only_if_they_are_named) {
  made.write(".env", "TOKEN=old\n");
  made.commit("secret");
  made.write(".env", "TOKEN=new\n");
  made.write("file.txt", "changed\n");
  const std::string patch = tools.run("git_diff", "{}");
  EXPECT_THAT(patch, Not(HasSubstr("TOKEN")));
  EXPECT_THAT(patch, HasSubstr("+changed"));
  EXPECT_THAT(patch, HasSubstr("[1 files whose names suggest secrets are not shown"));
  EXPECT_THAT(tools.run("git_diff", R"({"against": "HEAD", "paths": ["."]})"), Not(HasSubstr("TOKEN")));
  EXPECT_THAT(tools.run("git_diff", R"({"paths": [".env"]})"), HasSubstr("+TOKEN=new"));
}

TEST_F(GitTools, the_log_lists_commits_newest_first) {
  const std::string second = [&] {
    made.write("folder/inner.txt", "changed\n");
    return made.commit("second \xff commit\n\nwith a body");
  }();
  const std::string log = tools.run("git_log", "{}");
  EXPECT_TRUE(log.starts_with("commit " + second + "\nAuthor: Test <test@example.com>\n"));
  EXPECT_THAT(log, HasSubstr("    with a body\n"));
  EXPECT_THAT(log, HasSubstr("    first\n"));
  EXPECT_THAT(tools.run("git_log", R"({"limit": 1})"), Not(HasSubstr("    first\n")));
  EXPECT_THAT(tools.run("git_log", R"({"path": "file.txt"})"), Not(HasSubstr(second)));
  EXPECT_EQ(tools.run("git_log", R"({"path": "none"})"), "[no commits]\n");
}

TEST_F(GitTools, blame_names_the_commit_of_each_line) {
  made.write("file.txt", "one\nTWO\nthree\n");
  const std::string second = made.commit("second");
  const std::string lines = tools.run("git_blame", R"({"path": "file.txt", "from": 1, "to": 2})");
  EXPECT_THAT(lines, HasSubstr(second.substr(0, 7)));
  EXPECT_THAT(lines, HasSubstr(") TWO\n"));
  EXPECT_THAT(lines, Not(HasSubstr("three")));
  made.write("file.txt", "zero\n");
  EXPECT_THAT(tools.run("git_blame", R"({"path": "file.txt"})"), HasSubstr("[the file has changes"));
  EXPECT_THAT(tools.refuse("git_blame", R"({"path": "none"})"), HasSubstr("git_blame: "));
}

TEST_F(GitTools, files_are_staged_and_committed) {
  made.write("file.txt", "changed\r\n");
  made.write("new/file", "new\n");
  made.write("ignored.log", "x\n");
  fs::remove(made.root() / "folder/inner.txt");
  EXPECT_EQ(tools.run("git_add", R"({"paths": ["new", "file.txt"]})"), "staged file.txt\nstaged new/file\n");
  EXPECT_EQ(made.git({"status", "--porcelain"}), "M  file.txt\n D folder/inner.txt\nA  new/file");
  EXPECT_EQ(tools.run("git_add", R"({"paths": ["."]})"), "staged folder/inner.txt\n");
  EXPECT_THAT(tools.refuse("git_add", R"({"paths": ["ignored.log"]})"), HasSubstr("nothing was staged"));
  tools.refuse("git_add", R"({"paths": ["none"]})");
  const std::string said = tools.run("git_commit", R"({"message": "second\n\nbody"})");
  EXPECT_EQ(said, "committed " + made.git({"rev-parse", "HEAD"}) + " on `main`\n");
  EXPECT_EQ(made.git({"log", "-1", "--format=%an <%ae> %B"}), "Agent Smith <smith@example.com> second\n\nbody\n");
  EXPECT_EQ(made.git({"status", "--porcelain"}), "");
  EXPECT_THAT(tools.refuse("git_commit", R"({"message": "again"})"), HasSubstr("nothing is staged"));
  EXPECT_THAT(tools.refuse("git_commit", R"({"message": " \n"})"), HasSubstr("message is empty"));
}

TEST_F(GitTools, the_form_of_files_follows_the_attributes) {
  made.write(".gitattributes", "*.txt text eol=lf\n");
  made.commit("attributes");
  made.write("file.txt", "windows\r\n");
  tools.run("git_add", R"({"paths": ["file.txt"]})");
  EXPECT_EQ(made.git({"show", ":file.txt"}), "windows");
}

TEST_F(GitTools, a_commit_needs_an_identity_and_no_operation_in_progress) {
  made.write("file.txt", "changed\n");
  tools.run("git_add", R"({"paths": ["file.txt"]})");
  made.git({"config", "--unset", "user.email"});
  EXPECT_THAT(tools.refuse("git_commit", R"({"message": "x"})"), HasSubstr("set user.name and user.email"));
  made.git({"config", "user.email", "smith@example.com"});
  made.write(".git/MERGE_HEAD", made.git({"rev-parse", "HEAD"}) + "\n");
  EXPECT_THAT(tools.refuse("git_commit", R"({"message": "x"})"), HasSubstr("in progress (MERGE_HEAD)"));
  fs::remove(made.root() / ".git/MERGE_HEAD");
  tools.run("git_commit", R"({"message": "x"})");
}

// A linked worktree has a file `.git`, and one that Reeve made is locked.
TEST_F(GitTools, linked_worktrees_work_like_checkouts) {
  const std::string first = made.git({"rev-parse", "HEAD"});
  auto repository = git::Repository::find(made.root(), made.beside("state"));
  const fs::path folder = made.root() / ".worktrees" / "EX-1";
  repository->add_worktree(folder, first, "reeve/EX-1", "reeve EX-1");
  const HostedTools inner(folder, made.beside("scratch"));
  made.write(folder / "file.txt", "changed\n");
  EXPECT_THAT(inner.run("git_diff", "{}"), HasSubstr("+changed"));
  inner.run("git_add", R"({"paths": ["file.txt"]})");
  EXPECT_THAT(inner.run("git_commit", R"({"message": "second"})"), HasSubstr("on `reeve/EX-1`"));
  EXPECT_EQ(made.git({"rev-parse", "main"}), first);
  EXPECT_EQ(made.git({"rev-parse", "reeve/EX-1~1"}), first);
  EXPECT_THAT(inner.run("git_log", "{}"), HasSubstr("second"));
  // The branch of another checkout is not moved.
  made.git_in(folder, {"symbolic-ref", "HEAD", "refs/heads/main"});
  made.write(folder / "file.txt", "again\n");
  inner.run("git_add", R"({"paths": ["file.txt"]})");
  EXPECT_THAT(inner.refuse("git_commit", R"({"message": "x"})"), HasSubstr("checked out elsewhere"));
  EXPECT_EQ(made.git({"rev-parse", "main"}), first);
  // Without its `.git` file it is not a part of the checkout around it.
  fs::remove(folder / ".git");
  EXPECT_THAT(inner.refuse("git_log", "{}"), HasSubstr("is missing"));
}

// A run may have been started in a folder of a checkout.
TEST_F(GitTools, a_folder_of_a_checkout_is_the_limit) {
  const HostedTools inner(made.root() / "folder", made.beside("scratch"));
  made.write("file.txt", "outside the folder\n");
  made.write("folder/inner.txt", "changed\n");
  const std::string patch = inner.run("git_diff", "{}");
  EXPECT_THAT(patch, HasSubstr("folder/inner.txt"));
  EXPECT_THAT(patch, Not(HasSubstr("outside the folder")));
  EXPECT_THAT(inner.refuse("git_diff", R"({"paths": ["../file.txt"]})"), HasSubstr("contains `..`"));
  EXPECT_EQ(inner.run("git_add", R"({"paths": ["."]})"), "staged folder/inner.txt\n");
  made.git({"add", "file.txt"});
  EXPECT_THAT(inner.refuse("git_commit", R"({"message": "x"})"), HasSubstr("`file.txt` is staged, which is outside"));
  made.git({"reset", "-q", "file.txt"});
  inner.run("git_commit", R"({"message": "x"})");
  EXPECT_EQ(made.git({"show", "--name-only", "--format="}), "folder/inner.txt");
}

TEST_F(GitTools, a_new_repository_gets_its_first_commit) {
  const fs::path folder = made.beside("fresh");
  made.git({"init", "-q", "-b", "main", folder.string()});
  const HostedTools fresh(folder, made.beside("scratch"));
  EXPECT_THAT(fresh.refuse("git_log", "{}"), HasSubstr("has no commits"));
  EXPECT_EQ(fresh.run("git_diff", R"({"staged": true})"), "[no differences]\n");
  made.write(folder / "a", "x\n");
  fresh.run("git_add", R"({"paths": ["a"]})");
  EXPECT_THAT(fresh.run("git_diff", R"({"staged": true})"), HasSubstr("+x"));
  fresh.refuse("git_commit", R"({"message": "no identity"})");
  made.git_in(folder, {"config", "user.name", "A"});
  made.git_in(folder, {"config", "user.email", "a@b"});
  fresh.run("git_commit", R"({"message": "first"})");
  EXPECT_EQ(made.git_in(folder, {"log", "--format=%s"}), "first");
}

TEST_F(GitTools, a_push_only_adds_commits_at_a_configured_remote) {
  const fs::path origin = made.beside("origin.git");
  made.git({"init", "-q", "--bare", origin.string()});
  EXPECT_THAT(tools.refuse("git_push", "{}"), HasSubstr("there is no remote `origin`"));
  made.git({"remote", "add", "origin", origin.string()});
  EXPECT_THAT(tools.run("git_push", "{}"), HasSubstr("pushed: `refs/heads/main` at `origin`"));
  EXPECT_THAT(tools.run("git_push", R"({"remote": "origin", "branch": "main"})"), HasSubstr("up to date"));
  const std::string first = made.git({"rev-parse", "HEAD"});
  EXPECT_EQ(made.git_in(origin, {"rev-parse", "main"}), first);
  made.commit("second");
  tools.run("git_push", "{}");
  const std::string second = made.git({"rev-parse", "HEAD"});
  // Never by force.
  made.git({"reset", "-q", "--hard", first});
  made.commit("other");
  EXPECT_THAT(tools.refuse("git_push", "{}"), HasSubstr("does not have; merge them first"));
  EXPECT_EQ(made.git_in(origin, {"rev-parse", "main"}), second);
  for (const char* branch : {"+main", "main:other", "--force", "-f", "refs/heads/main", "HEAD", "a..b", "none", "*",
                             ":main", "main^", ".hidden", "a/", "a.lock"}) {
    tools.refuse("git_push", fmt::format(R"({{"branch": "{}"}})", branch));
  }
  for (const std::string& remote : std::vector<std::string>{"--all", "-x", origin.string(), "ext::sh -c x", "host:path",
                                                            "../origin.git", "upstream"}) {
    EXPECT_THAT(tools.refuse("git_push", fmt::format(R"({{"remote": "{}"}})", remote)), HasSubstr("cannot push"));
  }
  EXPECT_EQ(made.git_in(origin, {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
}

TEST_F(GitTools, options_are_never_taken_for_revisions_or_paths) {
  made.write("--output=stolen", "x\n");
  for (const char* revision : {"--output=stolen", "-p", "HEAD:file.txt", ":/first", "HEAD^{/first}", "none", "HEAD ^x",
                               "@{-1}", "HEAD^{tree}"}) {
    EXPECT_THAT(tools.refuse("git_diff", fmt::format(R"({{"against": "{}"}})", revision)), HasSubstr("not a commit"));
  }
  EXPECT_EQ(tools.run("git_add", R"({"paths": ["--output=stolen"]})"), "staged --output=stolen\n");
  // A pathspec would match everything.
  made.write("new", "x\n");
  for (const char* path : {":/", ":(top)", "*", "n*", ":!file.txt"}) {
    tools.refuse("git_add", fmt::format(R"({{"paths": ["{}"]}})", path));
  }
  EXPECT_EQ(staged(), "--output=stolen");
  EXPECT_EQ(tools.run("git_log", R"({"path": "--all"})"), "[no commits]\n");
}

TEST_F(GitTools, a_large_patch_is_cut) {
  std::string text;
  for (int i = 0; i < 60'000; ++i) text += fmt::format("line {}\n", i);
  made.write("file.txt", text);
  const std::string patch = tools.run("git_diff", "{}");
  EXPECT_THAT(patch, HasSubstr("[cut: the patch is too large; give `paths`]"));
}

}  // namespace
}  // namespace reeve::runtime
