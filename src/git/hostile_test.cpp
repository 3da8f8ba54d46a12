#include <fstream>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "git/command.h"
#include "git/repository.h"
#include "os/lock.h"
#include "tests/support/git_repository.h"
#include "tests/support/program.h"
#include "tests/support/session.h"

// ISO-5: a repository in which every setting that can run a program does, and each program would leave a trace.
namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using testing::GitRepository;

class GitHostile : public ::testing::Test {
 protected:
  GitHostile() {
    made.write("../evil", fmt::format("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", canary.string()));
    ::chmod(evil.c_str(), 0700);
    made.write("../evil-fetch", fmt::format("#!/bin/sh\necho \"$0\" >> '{}'\n", canary.string()));
    ::chmod(made.beside("evil-fetch").c_str(), 0700);
    made.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    made.write("file.txt", "one\ntwo\nthree\n");
    first = made.commit("hostile attributes");
  }

  void configure(const fs::path& git_folder) {
    const auto set = [&](const std::string& name, const std::string& value) {
      made.git({"config", "--file", (git_folder / "config").string(), name, value});
    };
    for (const char* name : {"core.fsmonitor",
                             "core.pager",
                             "core.editor",
                             "core.sshCommand",
                             "core.askPass",
                             "core.gitProxy",
                             "core.alternateRefsCommand",
                             "sequence.editor",
                             "gpg.program",
                             "gpg.ssh.program",
                             "credential.helper",
                             "diff.external",
                             "diff.evil.command",
                             "diff.evil.textconv",
                             "filter.evil.clean",
                             "filter.evil.smudge",
                             "merge.evil.driver",
                             "merge.evil.recursive",
                             "pager.status",
                             "pager.config",
                             "pager.worktree",
                             "pager.rev-parse",
                             "interactive.diffFilter",
                             "uploadpack.packObjectsHook",
                             "tar.x.command",
                             "trailer.x.command"}) {
      set(name, evil.string());
    }
    for (const char* name : {"status", "update-ref", "worktree", "rev-parse", "read-tree", "checkout"}) {
      set(std::string("alias.") + name, "!" + evil.string());
    }
    set("filter.evil.required", "true");
    set("commit.gpgSign", "true");
    set("log.showSignature", "true");
    set("core.hooksPath", hooks.string());
    // Missing objects are fetched with this command.
    set("remote.origin.url", "ext::" + made.beside("evil-fetch").string());
    set("remote.origin.promisor", "true");
    set("protocol.ext.allow", "always");
    fs::create_directories(hooks);
    fs::create_directories(git_folder / "hooks");
    for (const char* hook : {"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit",
                             "prepare-commit-msg", "commit-msg", "post-merge", "pre-merge-commit", "post-rewrite",
                             "pre-auto-gc", "fsmonitor-watchman", "sendemail-validate", "pre-rebase"}) {
      for (const fs::path& place : {hooks, git_folder / "hooks"}) {
        fs::copy_file(evil, place / hook, fs::copy_options::overwrite_existing);
      }
    }
    made.write(git_folder / "info/attributes", "* filter=evil diff=evil merge=evil\n");
  }
  // The programs that ran since the last call.
  std::string heard() {
    std::error_code error;
    if (!fs::exists(canary, error)) return "";
    std::string text = testing::read_text(canary);
    fs::remove(canary);
    return text;
  }
  void work_through() {
    Repository repository = *Repository::find(made.root(), made.beside("scratch"));
    ASSERT_EQ(repository.get_head(), first);
    repository.add_worktree(folder, first, "reeve/EX-9", "reeve EX-9");
    made.write(folder / "file.txt", "ONE\ntwo\nthree\n");
    made.write(folder / "new.txt", "new\n");
    const auto ours = repository.snapshot(folder, first, "ours");
    ASSERT_TRUE(ours);
    repository.reset(folder, first, "reeve/EX-9");
    made.write(folder / "file.txt", "one\ntwo\nTHREE\n");
    const auto theirs = repository.snapshot(folder, first, "theirs");
    ASSERT_TRUE(theirs);
    EXPECT_EQ(repository.diff(*ours, *theirs).files.size(), 2);
    repository.merge(*ours, *theirs, "merge");
    repository.revert(first, *ours, *ours, "revert");
    EXPECT_TRUE(repository.set_ref("refs/heads/reeve/EX-9", *theirs, first));
    repository.list_worktrees();
    // The same content with another time: git has to read the file.
    made.write("file.txt", "one\ntwo\nthree\n");
    EXPECT_TRUE(repository.status().dirty.empty());
    repository.fast_forward(*theirs);
    EXPECT_EQ(made.read("file.txt"), "one\ntwo\nTHREE\n");
    repository.remove_worktree(folder);
    EXPECT_TRUE(repository.delete_ref("refs/heads/reeve/EX-9", *theirs));
    EXPECT_THROW(repository.set_ref("refs/reeve/x", std::string(40, '1'), std::nullopt), base::Error);
  }
  // Runs plain git, to prove that the programs would run. It may fail.
  void run_plain(std::vector<std::string> words, const fs::path& where) {
    words.insert(words.begin(), "git");
    testing::run_program({.argv = std::move(words),
                          .folder = where,
                          .environment = {{"PATH", std::getenv("PATH")}, {"HOME", made.home().string()}}});
  }

  GitRepository made;
  fs::path canary = made.beside("canary");
  fs::path evil = made.beside("evil");
  fs::path hooks = made.beside("hooks");
  fs::path folder = made.root() / ".worktrees" / "EX-9";
  std::string first;
};

TEST_F(GitHostile, repository_configuration_runs_nothing) {
  configure(made.root() / ".git");
  work_through();
  EXPECT_EQ(heard(), "");
  // The set-up works: plain git runs these.
  made.write("file.txt", "changed");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"status"},
                                             {"diff"},
                                             {"add", "file.txt"},
                                             {"update-ref", "refs/x", "HEAD"},
                                             {"cat-file", "-e", std::string(40, '1')}}) {
    run_plain(words, made.root());
    EXPECT_NE(heard(), "") << words.front();
  }
}

TEST_F(GitHostile, included_and_worktree_configuration_runs_nothing) {
  const fs::path other = made.beside("other");
  made.git({"init", "-q", "--bare", other.string()});
  configure(other);
  made.git({"config", "include.path", (other / "config").string()});
  made.git({"config", "extensions.worktreeConfig", "true"});
  fs::copy_file(other / "config", made.root() / ".git" / "config.worktree");
  made.git({"config", "--file", (made.root() / ".git/config.worktree").string(), "core.bare", "false"});
  work_through();
  EXPECT_EQ(heard(), "");
}

TEST_F(GitHostile, rewritten_git_file_runs_nothing) {
  const fs::path other = made.beside("other");
  made.git({"clone", "-q", "--bare", made.root().string(), other.string()});
  configure(other);
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  made.write(folder / ".git", "gitdir: " + other.string() + "\n");
  const fs::path own = made.root() / ".git/worktrees/EX-9";
  made.write(own / "commondir", other.string() + "\n");
  made.write(folder / "file.txt", "changed\n");
  const auto commit = repository.snapshot(folder, first, "work");
  ASSERT_TRUE(commit);
  EXPECT_EQ(made.git({"cat-file", "-t", *commit}), "commit");
  EXPECT_EQ(heard(), "");
  run_plain({"--work-tree=.", "status"}, folder);
  EXPECT_NE(heard(), "");
  repository.reset(folder, first);
  EXPECT_EQ(testing::read_text(folder / ".git"), "gitdir: " + own.string() + "\n");
  repository.remove_worktree(folder);
  EXPECT_EQ(heard(), "");
}

// git add and git status look into submodules, and use the config there.
TEST_F(GitHostile, submodules_and_embedded_repositories_run_nothing) {
  const fs::path other = made.beside("other");
  made.git({"clone", "-q", "--bare", made.root().string(), other.string()});
  made.git({"submodule", "--quiet", "add", other.string(), "sub"});
  first = made.commit("with a submodule");
  configure(made.root() / ".git/modules/sub");
  made.write("sub/file.txt", "changed\n");
  Repository repository = *Repository::find(made.root(), made.beside("scratch"));
  EXPECT_TRUE(repository.status().dirty.empty());
  repository.add_worktree(folder, first, std::nullopt, "reeve EX-9");
  EXPECT_FALSE(repository.snapshot(folder, first, "nothing"));
  // Initialized as an agent would.
  made.git_in(folder, {"submodule", "--quiet", "update", "--init"});
  configure(made.root() / ".git/worktrees/EX-9/modules/sub");
  made.write(folder / "sub/file.txt", "changed\n");
  heard();
  EXPECT_FALSE(repository.snapshot(folder, first, "nothing"));
  // One repository inside, and a bare one as plain files.
  made.git({"clone", "-q", made.root().string(), (folder / "inner").string()});
  configure(folder / "inner/.git");
  made.git({"clone", "-q", "--bare", made.root().string(), (folder / "bare").string()});
  configure(folder / "bare");
  heard();
  const auto commit = repository.snapshot(folder, first, "inside");
  ASSERT_TRUE(commit);
  EXPECT_NE(made.git({"ls-tree", "-r", "--name-only", *commit}).find("inner/file.txt"), std::string::npos);
  repository.diff(first, *commit);
  repository.fast_forward(*commit);
  repository.reset(folder, first);
  repository.remove_worktree(folder);
  EXPECT_EQ(heard(), "");
  run_plain({"status"}, made.root());
  EXPECT_NE(heard(), "");
}

// A git that hangs is killed with all processes that it started.
TEST_F(GitHostile, hung_command_is_killed_with_its_children) {
  made.write("../bin/git", "#!/bin/sh\nsleep 1000 & echo $! > " + made.beside("pid").string() + "\nwait\n");
  ::chmod(made.beside("bin/git").c_str(), 0700);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (made.beside("bin").string() + ":" + before).c_str(), 1);
  std::string code;
  try {
    run({.words = {"status"},
         .git_folder = made.root() / ".git",
         .said = made.beside("said"),
         .limit = std::chrono::seconds(5)});
  } catch (const base::Error& error) {
    code = error.code();
  }
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(code, "git.timeout");
  const pid_t child = std::stoi(testing::read_text(made.beside("pid")));
  // Killed, but it may still be ending or not have been waited for yet.
  std::string state;
  EXPECT_TRUE(testing::eventually([&] {
    std::ifstream stat(fmt::format("/proc/{}/stat", child));
    state.clear();
    std::getline(stat, state);
    return state.empty() || state.contains(") Z ") || state.contains(") X ");
  })) << state;
}

// The old git would complete an abandoned operation on top of the current one.
TEST_F(GitHostile, a_call_waits_for_a_git_that_outlived_its_daemon) {
  const fs::path said = made.beside("said");
  auto other = os::FileLock::try_take(said.string());
  ASSERT_TRUE(other);
  Call call{.words = {"rev-parse", "HEAD"},
            .git_folder = made.root() / ".git",
            .said = said,
            .limit = std::chrono::milliseconds(100)};
  EXPECT_THROW(run(call), base::Error);
  other.reset();
  call.limit = std::chrono::seconds(60);
  EXPECT_EQ(run(call).output, first + "\n");
}

TEST_F(GitHostile, output_is_bounded) {
  made.write("large", std::string(3'000'000, 'x'));
  const std::string blob = made.git({"hash-object", "-w", "large"});
  Call call{.words = {"cat-file", "blob", blob},
            .git_folder = made.root() / ".git",
            .said = made.beside("said"),
            .max_output = 1'000'000};
  const Outcome outcome = run(call);
  EXPECT_TRUE(outcome.is_cut);
  EXPECT_EQ(outcome.output.size(), 1'000'000);
  EXPECT_THROW(demand(call), base::Error);
}

}  // namespace
}  // namespace reeve::git
