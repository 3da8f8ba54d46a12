#include <csignal>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// Tools with `sandbox: guard`: what they cannot do; everything else works as without it.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using ::testing::StartsWith;
using testing::Words;

constexpr uid_t nobody = 65'534;

class Sandbox : public testing::DaemonTest {
 protected:
  Sandbox() {
    configure(
        "tools:\n"
        "  kept: {command: [/bin/sh, -c], sandbox: guard}\n"
        "  free: {command: [/bin/sh, -c]}\n"
        "  terminal: {command: [/bin/sh, -c], sandbox: guard, mode: pty}\n"
        "  missing: {command: [no-such-command], sandbox: guard}\n"
        "  plain-file: {command: [./plain], sandbox: guard}\n"
        "  zoo: {command: [" +
        bring(testing::zoo_binary()) + "], sandbox: guard}\n");
  }

  // A copy in the working folder, which is visible inside the sandbox wherever the program was built; /tmp is not.
  std::string bring(const fs::path& program) const {
    const fs::path copy = project() / program.filename();
    fs::copy_file(program, copy);
    return copy;
  }

  Outcome kept(const std::string& script, const Words& options = {}) const {
    Words words = {"run", "--tool", "kept"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", script});
    return reeve(words);
  }
  // Prints `open` if the attempt succeeds; in a subshell, because a failed redirection ends the shell. Without a
  // sandbox it succeeds, which shows that the attempt is valid.
  void expect_held(const std::string& attempt) const {
    const std::string script = "( " + attempt + " ) >/dev/null 2>&1 && echo open || echo held";
    EXPECT_EQ(reeve({"run", "--tool", "free", "--", script}).out, "open\n") << attempt;
    const Outcome outcome = kept(script);
    EXPECT_EQ(outcome.out, "held\n") << attempt << "\n" << outcome.err;
  }
  // A path outside the working folder, unique to this test because others run concurrently.
  static std::string outside() {
    return fs::path(testing::reeve_binary()).parent_path() / ("sandbox-was-left-" + std::to_string(::getpid()));
  }
  testing::Launch launch_with_path(const Words& words, const std::string& path) const {
    testing::Launch made = launch(words);
    for (auto& [name, value] : made.environment) {
      if (name == "PATH") value = path;
    }
    return made;
  }
  // Nothing can be mounted on a dangling symlink.
  void break_sandbox() const {
    fs::create_directories(project() / ".git");
    fs::create_symlink("/not there", project() / ".git/hooks");
  }
  void mend_sandbox() const { fs::remove(project() / ".git/hooks"); }
  void write_program(const fs::path& name, const std::string& text) const {
    const fs::path path = scratch().write(name, text);
    ::chmod(path.c_str(), 0755);
  }
};

// APR-11
TEST_F(Sandbox, writes_outside_the_working_folder_are_blocked) {
  const std::string file = outside();
  const std::string write = "echo x > " + file;
  ASSERT_EQ(reeve({"run", "--tool", "free", "--", write}).code, 0);
  ASSERT_TRUE(fs::remove(file)) << "the attempt is not valid";
  // It fails, or goes to the sandbox's own /tmp if the programs were built there.
  kept(write);
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(kept("echo mine > here && cat here").out, "mine\n");
  EXPECT_EQ(testing::read_text(project() / "here"), "mine\n");
}

// APR-11: the socket, the database, the launches of other runs.
TEST_F(Sandbox, state_folder_is_hidden) {
  expect_held("[ -S " + socket().string() + " ]");
  expect_held("ls " + (state() / "reeve.db").string());
  expect_held("ls " + (state() / "runs/TR-1").string());
  expect_held("ls " + (state() / "keepers").string() + "/*");
}

// Only the folder for its result is writable: neither its exit record nor its output.
TEST_F(Sandbox, a_run_cannot_touch_its_own_records) {
  expect_held("ls \"${REEVE_OUTPUT%/own/*}/exec\"");
  expect_held("echo x > \"${REEVE_OUTPUT%/own/*}/exit\" && [ \"$(ls \"${REEVE_OUTPUT%/own/*}\" | wc -l)\" -gt 2 ]");
  EXPECT_EQ(kept("echo '{\"n\": 1}' > $REEVE_OUTPUT; exit 3").code, 3);
  const std::string id = reeve({"runs", "--limit", "1"}).out.substr(0, 4);
  EXPECT_EQ(testing::read_text(state() / "runs" / id / "1/own/result.json"), "{\"n\": 1}\n");
}

// APR-11
TEST_F(Sandbox, processes_outside_can_neither_be_seen_nor_reached) {
  const std::string self = std::to_string(::getpid());
  expect_held("kill -0 " + self);
  expect_held("[ -e /proc/" + self + "/stat ]");
  expect_held(": < /proc/" + self + "/mem");
}

// APR-11: another daemon would run commands for it outside the sandbox.
TEST_F(Sandbox, another_daemon_refuses_to_start_runs_for_it) {
  const fs::path other = project() / "other";
  const std::string file = outside();
  const std::string leave = bring(testing::reeve_binary()) + " run --state " + other.string() + " -- touch " + file;
  // A state folder that exists when the sandbox is made is hidden; this one appears later.
  const std::string wait = "until [ -S " + (other / "reeve.sock").string() + " ]; do sleep 0.05; done; ";
  const auto session = start({"run", "--tool", "kept", "--", "echo ready; " + wait + leave});
  ASSERT_TRUE(session->wait_for("ready"));
  ASSERT_EQ(reeve({"runs", "--state", other.string()}).code, 0);
  EXPECT_EQ(session->wait(), 5) << session->out();
  EXPECT_TRUE(session->wait_for_error("api.not_from_a_sandbox"));
  EXPECT_FALSE(fs::exists(file));
  const Outcome outcome = kept(leave);
  EXPECT_EQ(outcome.code, 6) << outcome.err;
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(reeve({"stop", "--state", other.string()}).code, 0);
}

// APR-11: the config controls the next run.
TEST_F(Sandbox, config_is_read_only) {
  const std::string move = "{ mv .reeve moved && mv moved .reeve; } 2>/dev/null && echo open || echo held";
  // Without a daemon, whose state folder would be missing for a moment.
  EXPECT_EQ(testing::run_program({.argv = {"/bin/sh", "-c", move}, .folder = project()}).out, "open\n");
  EXPECT_EQ(kept(move).out, "held\n");
  EXPECT_THAT(kept("cat .reeve/config.yaml").out, HasSubstr("sandbox: guard"));
  expect_held(": >> .reeve/config.yaml");
  expect_held("touch .reeve/more && rm .reeve/more");
}

TEST_F(Sandbox, folder_above_the_config_cannot_be_renamed) {
  const std::string inner = project().filename();
  const std::string script =
      "{ mv " + inner + " moved && mv moved " + inner + "; } 2>/dev/null && echo open || echo held";
  const std::string above = project().parent_path();
  // Without a daemon, whose state folder would be missing for a moment.
  EXPECT_EQ(testing::run_program({.argv = {"/bin/sh", "-c", script}, .folder = above}).out, "open\n");
  const Outcome outcome = kept(script, {"--cwd", above});
  EXPECT_EQ(outcome.out, "held\n") << outcome.err;
}

// Hooks that git would later run for the user are a way out too.
TEST_F(Sandbox, git_hooks_and_config_are_read_only) {
  ASSERT_EQ(testing::run_program({.argv = {"/usr/bin/git", "init", "-q", project().string()}}).code, 0);
  expect_held(": >> .git/config");
  expect_held("echo x > .git/hooks/post-commit && rm .git/hooks/post-commit");
  expect_held("mv .git moved && mv moved .git");
  const std::string commit = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q";
  EXPECT_EQ(kept("git add -A . && " + commit + " -m one && git log --format=%s").out, "one\n");
}

// In a linked worktree git writes to the main repository; its hooks and its checkout stay protected.
TEST_F(Sandbox, commits_in_a_linked_worktree_work) {
  const std::string main = scratch().path() / "main";
  const std::string tree = project() / "tree";
  const std::string commit = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit -q --allow-empty";
  const auto made = testing::run_program(
      {.argv = {"/bin/sh", "-c",
                "git init -q " + main + " && cd " + main + " && " + commit + " -m zero && git worktree add -q " + tree},
       .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}}});
  ASSERT_EQ(made.code, 0) << made.err;
  const Outcome outcome = kept(commit + " -m one && git log --format=%s", {"--cwd", tree});
  EXPECT_EQ(outcome.out, "one\nzero\n") << outcome.err;
  EXPECT_EQ(kept("echo x > " + main + "/.git/hooks/post-commit", {"--cwd", tree}).code, 2);
  EXPECT_FALSE(fs::exists(main + "/.git/hooks/post-commit"));
  // A folder with a forged `.git` file gets no writable paths.
  fs::create_directories(project() / "liar");
  std::ofstream(project() / "liar/.git") << "gitdir: " << main << "/.git/worktrees/tree\n";
  EXPECT_NE(kept("echo x > " + main + "/.git/objects/x", {"--cwd", (project() / "liar").string()}).code, 0);
}

// Otherwise root could set the kernel's core pattern.
TEST_F(Sandbox, kernel_settings_are_read_only) {
  const std::string attempt = ": >> /proc/sys/kernel/core_pattern";
  if (::geteuid() == 0) expect_held(attempt);
  EXPECT_EQ(kept("grep CapEff /proc/self/status").out, "CapEff:\t0000000000000000\n");
}

// Full rights in a new namespace do not uncover the hidden paths.
TEST_F(Sandbox, what_is_hidden_cannot_be_uncovered) {
  const std::string uncover = "umount " + state().string() + " && [ -S " + socket().string() + " ]";
  const Outcome outcome = kept("unshare -rm sh -c '" + uncover + "' 2>/dev/null && echo open || echo held");
  EXPECT_EQ(outcome.out, "held\n");
}

TEST_F(Sandbox, tmp_is_private) {
  scratch().write("outside", "");
  expect_held("[ -e " + (scratch().path() / "outside").string() + " ]");
  EXPECT_EQ(kept("echo x > /tmp/mine && cat /tmp/mine").out, "x\n");
}

// RUN-6, RUN-12
TEST_F(Sandbox, output_and_exit_codes_pass_through) {
  const Outcome outcome = kept("echo to-out; echo to-err >&2; exit 7");
  EXPECT_EQ(outcome.out, "to-out\n");
  EXPECT_THAT(outcome.err, HasSubstr("to-err"));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_EQ(kept("cat", {"--prompt", "from the prompt"}).out, "from the prompt");
  EXPECT_EQ(kept("kill -SEGV $$").code, 128 + SIGSEGV);
  // Without a mention of bubblewrap, which exits just after the tool.
  EXPECT_EQ(show("TR-1")["reason"], "exit_code != 0 (7)");
}

// As without a sandbox: bubblewrap's own message would be confusing.
TEST_F(Sandbox, failed_start_is_reported_as_without_a_sandbox) {
  const Outcome missing = reeve({"run", "--tool", "missing"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_EQ(show("TR-1")["reason"], "command not found: no-such-command");
  std::ofstream(project() / "plain") << "no program\n";
  EXPECT_EQ(reeve({"run", "--tool", "plain-file"}).code, 126);
  EXPECT_THAT(show("TR-2")["reason"], StartsWith("not executable: ./plain"));
}

// RUN-15: a tool gets SIGTERM and its grace time although bubblewrap is between it and the keeper.
TEST_F(Sandbox, tool_gets_sigterm_before_it_is_killed) {
  const Outcome started = reeve({"run", "--detach", "--tool", "kept", "--",
                                 "trap 'sleep 0.3; echo asked; exit 4' TERM; echo up; while :; do sleep 0.05; done"});
  ASSERT_EQ(started.code, 0) << started.err;
  wait_for_output("TR-1", "up");
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
  EXPECT_EQ(finish("TR-1")["status"], "cancelled");
  EXPECT_THAT(logs("TR-1"), HasSubstr("asked"));
}

// RUN-17
TEST_F(Sandbox, the_whole_tree_ends_with_the_run) {
  const Outcome outcome =
      reeve({"run", "--tool", "kept", "--", "setsid sleep 1000 & setsid sh -c 'sleep 1000 & exit' & echo up"});
  EXPECT_EQ(outcome.out, "up\n") << outcome.err;
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// RUN-13: when its keeper is killed, the whole tree ends.
TEST_F(Sandbox, tree_ends_with_the_keeper) {
  ASSERT_EQ(reeve({"run", "--detach", "--tool", "kept", "--", "echo up; sleep 1000"}).code, 0);
  wait_for_output("TR-1", "up");
  for (const auto& process : processes()) {
    // The keeper of this run is the parent of bubblewrap.
    if (!process.command.contains("--die-with-parent")) continue;
    std::ifstream stat("/proc/" + std::to_string(process.pid) + "/stat");
    std::string skipped;
    pid_t parent = 0;
    stat >> skipped >> skipped >> skipped >> parent;
    const std::string keeper = testing::read_text("/proc/" + std::to_string(parent) + "/cmdline");
    if (!keeper.contains(std::string("reeve-keeper\0hold", 17))) continue;
    ::kill(parent, SIGKILL);
    // The rest of the tree exits during the iteration.
    break;
  }
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  EXPECT_EQ(wait_for_status("TR-1", "waiting_approval")["reason"], "interrupted after it began");
  EXPECT_EQ(reeve({"cancel", "TR-1"}).code, 0);
}

// RUN-9: the terminal belongs to the tool, and Ctrl-C is a key for it, not for bubblewrap.
TEST_F(Sandbox, terminal_works_as_without_a_sandbox) {
  const auto terminal =
      start({"run", "--pty", "--tool", "terminal", "--",
             "trap 'echo caught; exit 5' INT; [ -t 0 ] && echo ready > /dev/tty; while :; do sleep 0.05; done"},
            Session::Ends::terminal, {{"TERM", "xterm"}});
  ASSERT_TRUE(terminal->wait_for("ready"));
  terminal->type("\x03");
  ASSERT_TRUE(terminal->wait_for("caught"));
  EXPECT_EQ(terminal->wait(), 5);
}

// APR-11: never without a sandbox.
TEST_F(Sandbox, missing_bubblewrap_refuses_the_run) {
  write_program("bin/sh", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
  const Outcome outcome = testing::run_program(
      launch_with_path({"run", "--tool", "kept", "--", "echo ran > proof"}, (scratch().path() / "bin").string()));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("run.sandbox_unavailable"));
  EXPECT_THAT(outcome.err, HasSubstr("`bwrap` is not in the daemon's PATH"));
  EXPECT_FALSE(fs::exists(project() / "proof"));
  EXPECT_EQ(reeve({"runs"}).out, "");
}

// APR-11: a tool without a sandbox could put its own `bwrap` into a PATH folder for the next run.
TEST_F(Sandbox, bubblewrap_writable_by_others_is_not_used) {
  write_program("bin/bwrap", "#!/bin/sh\ntouch " + (scratch().path() / "used").string() + "\nexec \"$@\"\n");
  const fs::path bin = scratch().path() / "bin";
  // For root too: anyone can replace files in a world-writable folder.
  fs::permissions(bin, fs::perms::all);
  const Outcome alone =
      testing::run_program(launch_with_path({"run", "--tool", "kept", "--", "echo ran"}, bin.string()));
  EXPECT_EQ(alone.code, 2) << alone.out;
  EXPECT_THAT(alone.err, AllOf(HasSubstr("run.sandbox_unavailable"), HasSubstr("bin/bwrap` is not used")));
  EXPECT_EQ(reeve({"stop"}).code, 0);
  const Outcome beside = testing::run_program(
      launch_with_path({"run", "--tool", "kept", "--", "echo ran"}, bin.string() + ":/usr/bin:/bin"));
  EXPECT_EQ(beside.out, "ran\n") << beside.err;
  EXPECT_FALSE(fs::exists(scratch().path() / "used"));
}

// If bubblewrap fails, its own message is reported, and the next run tries again.
TEST_F(Sandbox, failing_bubblewrap_is_reported_and_tried_again) {
  break_sandbox();
  const Outcome outcome = kept("echo ran");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("run.sandbox_unavailable"), HasSubstr("Can't mount tmpfs")));
  EXPECT_EQ(outcome.out, "");
  mend_sandbox();
  EXPECT_EQ(kept("echo ran").out, "ran\n");
}

// The check passed, but the start fails: the run has failed, and nothing ran.
TEST_F(Sandbox, sandbox_failure_at_the_start_fails_the_run) {
  EXPECT_EQ(kept("echo ran").out, "ran\n");
  break_sandbox();
  const Outcome outcome = kept("echo ran");
  EXPECT_EQ(outcome.code, 126);
  EXPECT_EQ(outcome.out, "");
  auto run = show("TR-2");
  EXPECT_EQ(run["status"], "failed");
  EXPECT_THAT(run["reason"],
              StartsWith("the tool asks for `sandbox: guard`, but bubblewrap could not start it: bwrap: Can't mount"));
}

// APR-11: with full rights in a new namespace a process could reach more of the kernel.
TEST_F(Sandbox, user_namespaces_cannot_be_created_inside) {
  expect_held("unshare --user true");
  expect_held("unshare --user --map-root-user --mount true");
}

// A folder that contains Reeve's files cannot be exposed to a tool.
TEST_F(Sandbox, state_folder_is_refused_as_working_folder) {
  const Outcome outcome = kept("echo ran", {"--cwd", (state() / "runs").string()});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("run.sandbox_unavailable"));
}

// Root bypasses permission checks.
TEST_F(Sandbox, holds_for_an_unprivileged_user) {
  if (::geteuid() != 0) return;
  const auto as_nobody = [&](const Words& words) {
    testing::Launch made = launch(words);
    made.argv.insert(made.argv.begin(), {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
    return testing::run_program(made);
  };
  ASSERT_EQ(::chmod(scratch().path().c_str(), 0755), 0);
  for (const auto& entry : fs::recursive_directory_iterator(scratch().path())) {
    ASSERT_EQ(::chown(entry.path().c_str(), nobody, nobody), 0);
  }
  ASSERT_EQ(::chown(scratch().path().c_str(), nobody, nobody), 0);
  const std::string script = "id -u; echo mine > here; [ -S " + socket().string() + " ] || echo no socket; kill -0 " +
                             std::to_string(::getpid()) + " 2>/dev/null || echo no processes; : >> .reeve/config.yaml";
  const Outcome outcome = as_nobody({"run", "--tool", "kept", "--", script});
  EXPECT_EQ(outcome.out, "65534\nno socket\nno processes\n") << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("Read-only file system"));
  EXPECT_EQ(testing::read_text(project() / "here"), "mine\n");
  EXPECT_EQ(as_nobody({"stop"}).code, 0);
}

// `reeve doctor` really attempts each of them.
TEST_F(Sandbox, doctor_checks_every_restriction) {
  const Outcome outcome = reeve({"doctor"});
  for (const char* name : {"write outside", "state folder hidden", "daemon socket", "processes hidden", "config kept",
                           "ptrace", "no namespaces within", "kernel settings"}) {
    EXPECT_THAT(outcome.out, HasSubstr("sandbox: " + std::string(name) + "\tok\tblocked")) << outcome.out;
  }
}

}  // namespace
}  // namespace reeve
