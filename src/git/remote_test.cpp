#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "git/repository.h"
#include "tests/support/git_repository.h"

// ISO-1, ISO-5: a branch is pushed to another repository and fetched from it, and nothing that either configures is
// run.
namespace reeve::git {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::GitRepository;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* ref = "refs/heads/reeve/EX-9";

class GitRemote : public ::testing::Test {
 protected:
  GitRemote() {
    made.git({"init", "-q", "--bare", there.string()});
    made.git({"remote", "add", "origin", there.string()});
  }
  Repository repository() const { return *Repository::find(made.root(), made.beside("scratch")); }
  Remote remote(const std::string& name = "origin") const { return repository().open_remote(name, {}); }
  // A commit that is on no branch.
  std::string make_commit(const std::string& text) const {
    made.write("file.txt", text);
    const std::string commit = made.commit(text);
    made.git({"reset", "-q", "--hard", "HEAD~1"});
    return commit;
  }
  template <class Act>
  static base::Error error_of(Act act) {
    try {
      act();
    } catch (const base::Error& error) {
      return error;
    }
    return {{}, ""};
  }
  // A program that leaves a trace when it is run.
  fs::path evil() const {
    const fs::path path =
        made.write("../evil", fmt::format("#!/bin/sh\necho \"$0\" >> '{}'\nexit 1\n", canary.string()));
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::string heard() const { return fs::exists(canary) ? testing::read_text(canary) : ""; }

  GitRepository made;
  fs::path there = made.beside("there.git");
  fs::path canary = made.beside("canary");
  std::string first = made.git({"rev-parse", "HEAD"});
};

TEST_F(GitRemote, push_needs_the_expected_remote_tip) {
  const std::string next = make_commit("next");
  const std::string other = make_commit("other");
  EXPECT_FALSE(remote().find(ref));
  EXPECT_FALSE(remote().push(ref, next, first)) << "the ref does not exist yet";
  EXPECT_TRUE(remote().push(ref, first, std::nullopt));
  EXPECT_EQ(remote().find(ref), first);
  EXPECT_TRUE(remote().push(ref, first, std::nullopt)) << "again";
  EXPECT_FALSE(remote().push(ref, next, std::nullopt)) << "the ref exists by now";
  EXPECT_TRUE(remote().push(ref, next, first));
  EXPECT_FALSE(remote().push(ref, other, first)) << "the ref has moved";
  EXPECT_EQ(remote().find(ref), next);
  EXPECT_TRUE(remote().push(ref, other, next)) << "also to an unrelated commit: the caller knows the old value";
  EXPECT_FALSE(remote().remove(ref, next));
  EXPECT_TRUE(remote().remove(ref, other));
  EXPECT_TRUE(remote().remove(ref, other)) << "again";
  EXPECT_FALSE(remote().find(ref));
  EXPECT_EQ(made.git({"for-each-ref", "refs/heads/reeve"}), "") << "no local ref is changed";
}

TEST_F(GitRemote, fetch_adds_commits_and_touches_no_ref) {
  const std::string next = make_commit("next");
  ASSERT_TRUE(remote().push(ref, next, std::nullopt));
  // Another clone that has neither commit.
  const fs::path clone = made.beside("clone");
  made.git({"init", "-q", clone.string()});
  made.git_in(clone, {"remote", "add", "origin", there.string()});
  Repository elsewhere = *Repository::find(clone, made.beside("elsewhere"));
  EXPECT_FALSE(elsewhere.has_commit(next));
  Remote their = elsewhere.open_remote("origin", {});
  EXPECT_EQ(their.fetch("refs/heads/none"), std::nullopt);
  EXPECT_EQ(their.fetch(ref), next);
  EXPECT_TRUE(elsewhere.has_commit(next));
  EXPECT_TRUE(elsewhere.is_ancestor(first, next));
  EXPECT_EQ(made.git_in(clone, {"for-each-ref"}), "");
  // Again, with a new tip.
  const std::string more = make_commit("more");
  ASSERT_TRUE(remote().push(ref, more, next));
  EXPECT_EQ(their.fetch(ref), more);
}

TEST_F(GitRemote, remote_is_given_by_name_path_or_url) {
  made.git({"remote", "add", "near", "../there.git"});
  for (const std::string& name :
       {std::string("near"), there.string(), "file://" + there.string(), std::string("../there.git")}) {
    EXPECT_EQ(remote(name).find(ref), std::nullopt) << name;
  }
  for (const char* name : {"nope", "", "-evil", "two\nlines"}) {
    EXPECT_EQ(error_of([&] { remote(name); }).code(), "git.no_remote") << name;
  }
  made.git({"config", "remote.twice.url", "https://example.org/fetch.git"});
  made.git({"config", "remote.twice.pushurl", there.string()});
  EXPECT_EQ(remote("twice").shown(), there.string()) << "pushurl is used";
}

TEST_F(GitRemote, unreachable_remote_is_reported) {
  const auto missing = error_of([&] { remote(made.beside("gone.git").string()).find(ref); });
  EXPECT_EQ(missing.code(), "git.remote_failed");
  EXPECT_THAT(missing.message(), HasSubstr("gone.git"));
  // The remote refuses a push that is not a fast-journal.
  made.git_in(there, {"config", "receive.denyNonFastForwards", "true"});
  const std::string next = make_commit("next");
  const std::string other = make_commit("other");
  ASSERT_TRUE(remote().push(ref, next, std::nullopt));
  const auto refused = error_of([&] { remote().push(ref, other, next); });
  EXPECT_EQ(refused.code(), "git.remote_failed");
  EXPECT_THAT(refused.message(), HasSubstr("non-fast-forward"));
}

TEST_F(GitRemote, credentials_in_urls_are_not_shown) {
  made.git({"remote", "set-url", "origin", "https://ana:hunter2@127.0.0.1:1/x.git"});
  EXPECT_EQ(remote().shown(), "https://127.0.0.1:1/x.git");
  const auto error = error_of([&] { remote().find(ref); });
  EXPECT_EQ(error.code(), "git.remote_failed");
  EXPECT_THAT(error.message(), AllOf(HasSubstr("127.0.0.1"), Not(HasSubstr("hunter2"))));
}

// ISO-5
TEST_F(GitRemote, urls_that_run_programs_are_refused) {
  for (const std::string& url : {"ext::" + evil().string(), std::string("fd::0"), std::string("http://127.0.0.1:1/x"),
                                 std::string("evil://x/y"), std::string("ssh://-oProxyCommand=x/y"),
                                 std::string("--upload-pack=x"), std::string("persistent-https://x/y")}) {
    made.git({"config", "remote.origin.url", url});
    EXPECT_EQ(error_of([&] { remote(); }).code(), "git.unsafe_remote") << url;
  }
  EXPECT_EQ(error_of([&] { remote("ext::" + evil().string()); }).code(), "git.unsafe_remote");
  // Rewritten from a harmless URL.
  made.git({"config", "remote.origin.url", there.string()});
  made.git({"config", "url.ext::" + evil().string() + " .insteadOf", there.string()});
  EXPECT_EQ(error_of([&] { remote(); }).code(), "git.unsafe_remote");
  EXPECT_FALSE(fs::exists(canary));
}

// ISO-5: in either repository.
TEST_F(GitRemote, configuration_of_either_repository_runs_nothing) {
  const std::string program = evil().string();
  const std::string next = make_commit("next");
  for (const char* name :
       {"remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs", "core.sshCommand",
        "core.gitProxy", "core.askPass", "core.fsmonitor", "core.alternateRefsCommand", "credential.helper",
        "gpg.program", "uploadpack.packObjectsHook", "push.gpgSign"}) {
    // git itself would fail on a helper name that does not exist.
    if (std::string_view(name) != "remote.origin.vcs") made.git({"config", name, program});
  }
  made.git({"config", "protocol.ext.allow", "always"});
  for (const char* name :
       {"core.alternateRefsCommand", "core.fsmonitor", "uploadpack.packObjectsHook", "core.sshCommand"}) {
    made.git_in(there, {"config", name, program});
  }
  // So that git looks for the refs of an alternate.
  fs::create_directories(there / "objects/info");
  made.write(there / "objects/info/alternates", (made.root() / ".git/objects").string() + "\n");
  for (const fs::path& hooks : {made.root() / ".git/hooks", there / "hooks"}) {
    fs::create_directories(hooks);
    for (const char* hook : {"pre-push", "pre-receive", "update", "post-receive", "post-update",
                             "reference-transaction", "proc-receive", "push-to-checkout", "pre-auto-gc"}) {
      fs::copy_file(program, hooks / hook, fs::copy_options::overwrite_existing);
    }
  }
  EXPECT_TRUE(remote().push(ref, first, std::nullopt));
  EXPECT_TRUE(remote().push(ref, next, first));
  EXPECT_EQ(remote().fetch(ref), next);
  EXPECT_TRUE(remote().remove(ref, next));
  EXPECT_EQ(heard(), "");
  // A remote that delegates its refs to a hook refuses.
  made.git_in(there, {"config", "receive.procReceiveRefs", "refs/heads"});
  EXPECT_EQ(error_of([&] { remote().push(ref, first, std::nullopt); }).code(), "git.remote_failed");
  EXPECT_EQ(heard(), "");
  // ssh is the user's own, whatever the repository configures.
  made.git({"remote", "set-url", "origin", "ssh://127.0.0.1:1/x"});
  EXPECT_EQ(error_of([&] { remote().find(ref); }).code(), "git.remote_failed");
  EXPECT_EQ(heard(), "");
}

// The result is no longer needed: the daemon is stopping.
TEST_F(GitRemote, call_is_abandoned_on_shutdown) {
  Remote given_up = repository().open_remote("origin", {.ssh_agent = {}, .gives_up = [] { return true; }});
  EXPECT_EQ(error_of([&] { given_up.find(ref); }).code(), "git.timeout");
}

}  // namespace
}  // namespace reeve::git
