#include "model/program_kinds.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "model/program_tables.h"

namespace reeve::model {
namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : base::split(text, ' ')) words.emplace_back(word);
  return words;
}

// TOOL-8: approving these by name would approve anything.
TEST(ProgramKinds, interpreters_shells_and_starters_are_never_approved_by_name) {
  for (const char* program : {"sh",
                              "bash",
                              "/bin/sh",
                              "/usr/bin/bash",
                              "bash-5.2",
                              "zsh",
                              "dash",
                              "fish",
                              "busybox",
                              "python",
                              "python3",
                              "python3.11",
                              "/usr/bin/python3.11-dbg",
                              "PYTHON",
                              "perl",
                              "perl5.36.0",
                              "ruby3.1",
                              "node",
                              "node20",
                              "nodejs",
                              "php8.2",
                              "lua5.4",
                              "tclsh8.6",
                              "awk",
                              "mawk",
                              "gawk",
                              "sed",
                              "ed",
                              "env",
                              "xargs",
                              "sudo",
                              "nice",
                              "timeout",
                              "nohup",
                              "setsid",
                              "make",
                              "gmake",
                              "npx",
                              "ssh",
                              "rsync",
                              "vi",
                              "vim",
                              "vim.basic",
                              "less",
                              "man",
                              "tmux",
                              "strace",
                              "systemd-run",
                              "bwrap",
                              "unshare",
                              "flock",
                              "watch",
                              "parallel",
                              "ld-linux-x86-64.so.2",
                              "/lib/ld-musl-x86_64.so.1",
                              "sqlite3",
                              "psql",
                              "gdb",
                              "reeve",
                              "claude",
                              "find",
                              "fd",
                              "sg",
                              "newgrp",
                              "gdbserver",
                              "lftp",
                              "rlwrap",
                              "dtach",
                              "cpulimit",
                              "choom",
                              "runcon",
                              "torify",
                              "proxychains4",
                              "eatmydata",
                              "fzf",
                              "watchexec",
                              "flatpak",
                              "systemd-nspawn",
                              "gnome-terminal",
                              "ccache",
                              "distcc",
                              "toybox",
                              "coreutils",
                              "kmod",
                              "lvm"}) {
    EXPECT_TRUE(find_program_objection(program, "")) << program;
    EXPECT_TRUE(find_command_objection(std::vector<std::string>{program, "x"})) << program;
    const ProgramKind kind = kind_of_program(program);
    EXPECT_TRUE(kind == ProgramKind::interpreter || kind == ProgramKind::starter) << program;
  }
  for (const char* program : {"ls", "cat", "grep", "wc", "sha256sum", "rg", "jq", "/usr/bin/stat"}) {
    EXPECT_FALSE(find_program_objection(program, "")) << program;
    EXPECT_EQ(kind_of_program(program), ProgramKind::plain) << program;
  }
}

// TOOL-8: a closed table. What is not in it may write, or run what the project's files say.
TEST(ProgramKinds, unknown_programs_are_never_approved_by_name) {
  for (const char* command : {"pytest -q",
                              "jest",
                              "eslint src",
                              "prove t",
                              "rustc x.rs",
                              "cargo build",
                              "cargo check",
                              "cargo test",
                              "cargo bench",
                              "cargo clippy",
                              "cargo doc",
                              "cargo metadata",
                              "go test ./...",
                              "go build",
                              "go vet",
                              "go generate",
                              "yarn list",
                              "pnpm list",
                              "npm ls",
                              "npm test",
                              "hg status",
                              "svn status",
                              "terraform validate",
                              "terraform show",
                              "gcc x.c",
                              "gcc-12 x.c",
                              "clang x.c",
                              "tar -xf x",
                              "curl https://x",
                              "wget https://x",
                              "mkdir x",
                              "rm x",
                              "cp a b",
                              "tee x",
                              "openssl version",
                              "ip addr",
                              "helm list",
                              "gh pr",
                              "frobnicate x",
                              "LS",
                              "ls-2 x",
                              "sha256sum2 x",
                              "git2 status",
                              "x86_64-linux-ls",
                              "ls.evil x",
                              "docker-compose ps"}) {
    const auto objection = find_command_objection(words_of(command));
    ASSERT_TRUE(objection) << command;
    EXPECT_TRUE(objection->contains("`argv`")) << command << ": " << *objection;
  }
  EXPECT_EQ(kind_of_program("pytest"), ProgramKind::unknown);
  EXPECT_EQ(find_program_objection("cargo", "test"),
            "cargo is not among the programs that only read, and may run what files of the project say; approve exact "
            "argument vectors instead (`argv`)");
}

// A name in two tables would be judged by the first.
TEST(ProgramKinds, tables_do_not_overlap) {
  for (const PlainProgram& row : plain_programs) {
    const ProgramKind kind = kind_of_program(row.program);
    EXPECT_TRUE(kind == ProgramKind::plain || kind == ProgramKind::with_subcommands) << row.program;
  }
}

TEST(ProgramKinds, programs_with_subcommands_need_one) {
  for (const char* program : {"git", "docker", "kubectl", "systemctl", "apt", "/usr/bin/git"}) {
    EXPECT_EQ(kind_of_program(program), ProgramKind::with_subcommands) << program;
    EXPECT_TRUE(find_program_objection(program, "")) << program;
    EXPECT_TRUE(find_program_objection(program, "unknown-extension")) << program;
  }
  EXPECT_FALSE(find_program_objection("git", "status"));
  EXPECT_FALSE(find_program_objection("docker", "ps"));
  for (const char* command :
       {"docker run", "docker exec", "kubectl exec", "git config", "git submodule", "git bisect", "git filter-branch",
        "git difftool", "git rebase", "git commit", "git checkout", "git push", "git fetch", "git stash",
        "git worktree", "git archive", "apt install", "systemctl start"}) {
    EXPECT_TRUE(find_command_objection(words_of(command))) << command;
  }
}

TEST(ProgramKinds, options_that_run_commands_or_write_are_found) {
  for (const char* command : {"git -c core.pager=id log",
                              "git -C x status",
                              "git --exec-path=x status",
                              "git --git-dir x status",
                              "git --git-dir=x status",
                              "git --work-tree=x status",
                              "git --namespace=x status",
                              "git --bare status",
                              "git log --output=x",
                              "git log --outp=x",
                              "git grep -Oid x",
                              "git grep --open-files-in-pager=id x",
                              "git diff --ext-diff",
                              "git log --textconv",
                              "git cat-file --filters HEAD:x",
                              "git branch new",
                              "git branch -D main",
                              "git branch --list -D main",
                              "git branch --edit-description",
                              "git branch --set-upstream-to=x",
                              "git tag v1",
                              "git tag -v v1",
                              "git remote add x y",
                              "git remote show origin",
                              "rg --pre id x",
                              "rg --hostname-bin=id x",
                              "rg -z x",
                              "sort --compress-program=id x",
                              "sort --comp id x",
                              "sort -o x y",
                              "sort -uo x y",
                              "sort --output=x y",
                              "uniq a b",
                              "uniq - b",
                              "uniq -f 1 a b",
                              "uniq -- -f b",
                              "xxd a b",
                              "xxd -r - b",
                              "tree -o x",
                              "tree -R -L 1",
                              "file -C -m x",
                              "file -bz x",
                              "diff -l a b",
                              "diff --paginate a b",
                              "kubectl get pods --kubeconfig x",
                              "kubectl cluster-info dump --output-directory=x",
                              "systemctl status -H host",
                              "apt list -o x=y",
                              "cat @options",
                              "ls @x",
                              "git log @x"}) {
    EXPECT_TRUE(find_command_objection(words_of(command))) << command;
  }
  for (const char* command : {"git status",
                              "git status --short",
                              "git log -n 5 --oneline",
                              "git diff --cached",
                              "git show HEAD",
                              "git blame src/a.c",
                              "git branch",
                              "git branch -a",
                              "git branch --list x*",
                              "git branch --show-current",
                              "git tag -l v1*",
                              "git remote -v",
                              "sort -u x",
                              "sort -k2 -n x",
                              "uniq -c",
                              "uniq -f 1 a",
                              "xxd -l 64 a",
                              "rg -n x",
                              "jq -f x y",
                              "tail -f x",
                              "date -s x",
                              "du -sh x",
                              "file x",
                              "tree -L 2",
                              "kubectl get pods -n kube",
                              "docker logs x",
                              "/usr/bin/ls -la"}) {
    EXPECT_EQ(find_command_objection(words_of(command)).value_or(""), "") << command;
  }
}

// TOOL-8: another program behind a name has other options, and may do anything.
TEST(ProgramKinds, file_of_a_program_has_its_name) {
  EXPECT_TRUE(is_program_of_name("/usr/bin/git", "git"));
  EXPECT_TRUE(is_program_of_name("/usr/bin/git", "/usr/bin/git"));
  EXPECT_TRUE(is_program_of_name("/usr/bin/which.debianutils", "which"));
  EXPECT_FALSE(is_program_of_name("/usr/bin/x86_64-linux-gnu-gcc-12", "gcc"));
  EXPECT_FALSE(is_program_of_name("/bin/busybox", "ls"));
  EXPECT_FALSE(is_program_of_name("/usr/bin/git-lfs", "git"));
  EXPECT_FALSE(is_program_of_name("", "git"));
}

TEST(ProgramKinds, git_is_known_behind_other_names) {
  for (const char* program : {"git", "/usr/bin/git", "/usr/lib/git-core/git-status", "gh", "tig"}) {
    EXPECT_TRUE(uses_git(program)) << program;
  }
  for (const char* program : {"gitk2", "grep", "", "/git/ls"}) EXPECT_FALSE(uses_git(program)) << program;
}

TEST(ProgramKinds, subcommand_is_the_word_after_the_program) {
  EXPECT_EQ(find_subcommand(words_of("git status -s")), "status");
  EXPECT_EQ(find_subcommand(words_of("git -C x status")), "");
  EXPECT_EQ(find_subcommand(words_of("git")), "");
  EXPECT_EQ(find_subcommand(words_of("ls src")), "") << "ls has none";
  EXPECT_TRUE(find_command_objection({}));
}

}  // namespace
}  // namespace reeve::model
