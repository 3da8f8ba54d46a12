#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "git/linked.h"
#include "tests/support/files.h"
#include "tests/support/git_repository.h"
#include "tests/support/hosted_call.h"
#include "tests/support/program.h"

// ISO-5, TOOL-4: a repository in which every setting that can run a program does, and each program would leave a trace.
namespace reeve::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::HostedTools;
using ::testing::Not;

class HostedGitHostile : public ::testing::Test {
 protected:
  HostedGitHostile() {
    made.write("../evil",
               fmt::format("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncase \"$*\" in *origin.git*) exit 1 ;; esac\ncat\n",
                           canary.string()));
    ::chmod(evil.c_str(), 0700);
    made.git({"config", "user.name", "Agent"});
    made.git({"config", "user.email", "agent@example.com"});
    made.write(".gitattributes", "* filter=evil diff=evil merge=evil\n");
    made.write("file.txt", "one\ntwo\nthree\n");
    made.commit("hostile attributes");
    made.git({"init", "-q", "--bare", origin.string()});
  }

  void configure(const fs::path& git_folder) const {
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
                             "filter.evil.process",
                             "merge.evil.driver",
                             "pager.log",
                             "pager.diff",
                             "pager.blame",
                             "interactive.diffFilter",
                             "uploadpack.packObjectsHook",
                             "trailer.x.command",
                             "remote.origin.uploadpack",
                             "remote.origin.receivepack",
                             "remote.origin.vcs",
                             "blame.ignoreRevsFile"}) {
      set(git_folder, name, evil.string());
    }
    for (const char* name : {"log", "diff", "add", "commit", "push", "blame", "rev-parse", "update-ref"}) {
      set(git_folder, std::string("alias.") + name, "!" + evil.string());
    }
    set(git_folder, "filter.evil.required", "true");
    set(git_folder, "commit.gpgSign", "true");
    set(git_folder, "push.gpgSign", "true");
    set(git_folder, "log.showSignature", "true");
    set(git_folder, "core.hooksPath", (made.beside("hooks")).string());
    set(git_folder, "remote.origin.promisor", "true");
    set(git_folder, "protocol.ext.allow", "always");
    set(git_folder, "submodule.recurse", "true");
    for (const fs::path& folder : {made.beside("hooks"), git_folder / "hooks"}) {
      fs::create_directories(folder);
      for (const char* hook : {"post-checkout", "reference-transaction", "post-index-change", "pre-commit",
                               "post-commit", "prepare-commit-msg", "commit-msg", "pre-push", "pre-auto-gc",
                               "pre-receive", "update", "post-receive", "post-update", "fsmonitor-watchman"}) {
        fs::copy_file(evil, folder / hook, fs::copy_options::overwrite_existing);
      }
    }
    made.write(git_folder / "info/attributes", "* filter=evil diff=evil merge=evil\n");
  }
  void set(const fs::path& git_folder, const std::string& name, const std::string& value) const {
    made.git({"config", "--file", (git_folder / "config").string(), name, value});
  }
  // The programs that ran since the last call.
  std::string heard() const {
    std::error_code error;
    if (!fs::exists(canary, error)) return "";
    std::string text = testing::read_text(canary);
    fs::remove(canary);
    return text;
  }
  // Every git tool does its work.
  void work_through(const HostedTools& agent, const fs::path& root) const {
    made.write(root / "file.txt", "ONE\ntwo\nthree\n");
    made.write(root / "new.txt", "new\n");
    EXPECT_THAT(agent.run("git_diff", "{}"), HasSubstr("+ONE"));
    EXPECT_THAT(agent.run("git_diff", R"({"against": "HEAD"})"), HasSubstr("+ONE"));
    EXPECT_THAT(agent.run("git_add", R"({"paths": ["."]})"), HasSubstr("staged new.txt\n"));
    EXPECT_THAT(agent.run("git_diff", R"({"staged": true})"), HasSubstr("+ONE"));
    agent.run("git_commit", R"({"message": "work"})");
    EXPECT_THAT(agent.run("git_log", R"({"path": "new.txt"})"), HasSubstr("work"));
    EXPECT_THAT(agent.run("git_blame", R"({"path": "file.txt"})"), HasSubstr("ONE"));
  }
  // Runs plain git, to prove that the programs would run. It may fail.
  void run_plain(std::vector<std::string> words) const {
    words.insert(words.begin(), "git");
    testing::run_program({.argv = std::move(words),
                          .folder = made.root(),
                          .environment = {{"PATH", std::getenv("PATH")}, {"HOME", made.home().string()}}});
  }

  testing::GitRepository made;
  fs::path canary = made.beside("canary");
  fs::path evil = made.beside("evil");
  fs::path origin = made.beside("origin.git");
  HostedTools tools{made.root(), made.beside("scratch")};
};

TEST_F(HostedGitHostile, configuration_and_hooks_run_nothing) {
  configure(made.root() / ".git");
  configure(origin);
  set(made.root() / ".git", "remote.origin.url", origin.string());
  work_through(tools, made.root());
  EXPECT_THAT(tools.run("git_push", "{}"), HasSubstr("pushed"));
  EXPECT_EQ(heard(), "");
  // The set-up works: plain git runs these.
  made.write("file.txt", "changed");
  made.git({"config", "--unset", "remote.origin.vcs"});
  heard();
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"diff"}, {"add", "file.txt"}, {"commit", "-m", "x"}, {"push", "origin", "main"}}) {
    run_plain(words);
    EXPECT_NE(heard(), "") << words.front();
  }
}

TEST_F(HostedGitHostile, configuration_of_a_linked_worktree_runs_nothing) {
  const fs::path folder = made.beside("linked");
  made.git({"worktree", "add", "-q", "-b", "side", folder.string()});
  configure(made.root() / ".git");
  set(made.root() / ".git", "extensions.worktreeConfig", "true");
  fs::copy_file(made.root() / ".git/config", made.root() / ".git/worktrees/linked/config.worktree");
  work_through(HostedTools(folder, made.beside("scratch")), folder);
  EXPECT_EQ(heard(), "");
}

TEST_F(HostedGitHostile, submodules_and_inner_repositories_run_nothing) {
  made.git({"clone", "-q", "--bare", made.root().string(), made.beside("other").string()});
  made.git({"submodule", "--quiet", "add", made.beside("other").string(), "sub"});
  made.commit("with a submodule");
  configure(made.root() / ".git/modules/sub");
  made.git({"clone", "-q", made.beside("other").string(), (made.root() / "inner").string()});
  configure(made.root() / "inner/.git");
  made.write("sub/file.txt", "changed\n");
  made.write("inner/file.txt", "changed\n");
  heard();
  work_through(tools, made.root());
  EXPECT_EQ(heard(), "");
  EXPECT_THAT(made.git({"ls-files"}), Not(HasSubstr("inner/")));
}

// The URL decides what runs; only plain protocols are permitted.
TEST_F(HostedGitHostile, a_remote_with_a_dangerous_url_is_refused) {
  for (const std::string& url :
       std::vector<std::string>{"ext::" + evil.string(), "fd::7", "-oProxyCommand=" + evil.string(),
                                "ssh://-oProxyCommand=" + evil.string() + "/x"}) {
    set(made.root() / ".git", "remote.origin.url", url);
    EXPECT_TRUE(tools.call("git_push", "{}").is_error) << url;
  }
  set(made.root() / ".git", "remote.origin.url", "https://example.invalid/x");
  set(made.root() / ".git", "url.ext::" + evil.string() + ".insteadOf", "https://example.invalid/");
  EXPECT_TRUE(tools.call("git_push", "{}").is_error);
  EXPECT_EQ(heard(), "");
}

// The agent may have written whatever `.git` is: it must not lead to the history of another repository.
TEST_F(HostedGitHostile, a_git_folder_never_leads_to_another_repository) {
  const fs::path folder = made.beside("agent");
  const fs::path git = folder / ".git";
  const HostedTools agent(folder, made.beside("scratch"));
  const auto expect_refused = [&](const std::string& what) {
    for (const char* tool : {"git_log", "git_diff"}) {
      const wire::CallResult result = agent.call(tool, "{}");
      EXPECT_TRUE(result.is_error) << what;
      EXPECT_THAT(result.content, Not(HasSubstr("hostile attributes"))) << what;
    }
    fs::remove_all(folder);
    fs::create_directories(folder);
  };
  fs::create_directories(folder);
  fs::create_directory_symlink(made.root() / ".git", git);
  expect_refused("symlink");
  made.write(git, "gitdir: " + (made.root() / ".git").string() + "\n");
  expect_refused("separate git folder");
  made.git({"init", "-q", folder.string()});
  made.write(git / "commondir", (made.root() / ".git").string() + "\n");
  expect_refused("commondir");
  for (const char* name : {"objects", "refs"}) {
    made.git({"init", "-q", folder.string()});
    fs::remove_all(git / name);
    fs::create_directory_symlink(made.root() / ".git" / name, git / name);
    expect_refused(name);
  }
  made.git({"init", "-q", folder.string()});
  made.write(git / "objects/info/alternates", (made.root() / ".git/objects").string() + "\n");
  made.write(git / "refs/heads/main", made.git({"rev-parse", "HEAD"}) + "\n");
  expect_refused("alternates");
  made.write(git / "HEAD", "x");
  made.write(git / "worktrees/x/gitdir", (folder / ".git").string() + "\n");
  expect_refused("incomplete");
}

// git appends to the record of a ref, which could be a symlink to a file that a shell reads.
TEST_F(HostedGitHostile, the_record_of_a_commit_has_no_text_of_the_agent) {
  made.git({"config", "user.name", "$(evil)"});
  made.write("file.txt", "changed\n");
  tools.run("git_add", R"({"paths": ["file.txt"]})");
  tools.run("git_commit", R"x({"message": "$(evil)"})x");
  EXPECT_THAT(testing::read_text(made.root() / ".git/logs/HEAD"), Not(HasSubstr("evil")));
  EXPECT_EQ(made.git({"log", "-1", "--format=%an %s"}), "$(evil) $(evil)");
}

// TOOL-4: what an agent puts in the place of the index costs neither the disk nor a thread.
TEST_F(HostedGitHostile, index_that_is_huge_or_no_file_is_not_copied) {
  const fs::path index = made.root() / ".git/index";
  fs::resize_file(index, 1UZ << 40U);
  for (const char* tool : {"git_diff", "git_commit"}) {
    const std::string arguments = std::string_view(tool) == "git_commit" ? R"({"message": "m"})" : "{}";
    EXPECT_THAT(tools.refuse(tool, arguments), HasSubstr("larger than 256 MiB")) << tool;
  }
  EXPECT_THAT(tools.refuse("git_add", R"({"paths": ["file.txt"]})"), HasSubstr("larger than 256 MiB"));
  fs::remove(index);
  ASSERT_EQ(::mkfifo(index.c_str(), 0600), 0);
  EXPECT_THAT(tools.refuse("git_diff", "{}"), HasSubstr("not a regular file"));
  fs::remove(index);
  fs::create_symlink("/etc/passwd", index);
  EXPECT_THAT(tools.refuse("git_diff", "{}"), HasSubstr("is a symlink"));
  EXPECT_TRUE(fs::is_empty(made.beside("scratch")));
}

TEST_F(HostedGitHostile, copy_of_the_index_ends_when_its_call_is_stopped) {
  const fs::path index = made.root() / ".git/index";
  const auto copy = [&](bool gives_up) {
    git::copy_index(index, made.beside("copy"), {.gives_up = [gives_up] { return gives_up; }});
  };
  EXPECT_THROW(copy(true), base::Error);
  EXPECT_FALSE(fs::exists(made.beside("copy")));
  copy(false);
  EXPECT_EQ(fs::file_size(made.beside("copy")), fs::file_size(index));
  EXPECT_EQ(fs::last_write_time(made.beside("copy")), fs::last_write_time(index)) << "git compares times";
}

}  // namespace
}  // namespace reeve::runtime
