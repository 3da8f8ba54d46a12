#include "model/program_kinds.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"

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
                              "claude"}) {
    EXPECT_TRUE(find_program_objection(program, "")) << program;
    EXPECT_TRUE(find_command_objection(std::vector<std::string>{program, "x"})) << program;
    const ProgramKind kind = kind_of_program(program);
    EXPECT_TRUE(kind == ProgramKind::interpreter || kind == ProgramKind::starter) << program;
  }
  for (const char* program : {"ls", "cat", "grep", "wc", "find", "tar", "sha256sum", "cargo-fmt", "clang-format-19"}) {
    EXPECT_FALSE(find_program_objection(program, "")) << program;
  }
}

TEST(ProgramKinds, programs_with_subcommands_need_one) {
  for (const char* program : {"git", "docker", "npm", "cargo", "kubectl", "systemctl", "apt", "/usr/bin/git"}) {
    EXPECT_EQ(kind_of_program(program), ProgramKind::with_subcommands) << program;
    EXPECT_TRUE(find_program_objection(program, "")) << program;
    EXPECT_TRUE(find_program_objection(program, "unknown-extension")) << program;
  }
  EXPECT_FALSE(find_program_objection("git", "status"));
  EXPECT_FALSE(find_program_objection("docker", "ps"));
  for (const char* command : {"docker run", "docker exec", "npm run", "npm test", "npm install", "cargo run", "go run",
                              "kubectl exec", "git config", "git submodule", "git bisect", "git filter-branch",
                              "git difftool", "git rebase", "apt install", "systemctl start", "yarn build"}) {
    EXPECT_TRUE(find_command_objection(words_of(command))) << command;
  }
}

TEST(ProgramKinds, options_that_run_commands_are_found) {
  for (const char* command : {"git -c core.pager=id log",
                              "git -C x status",
                              "git --exec-path=x status",
                              "git --git-dir x status",
                              "git log --output=x",
                              "git log --outp=x",
                              "git fetch --upload-pack=id x",
                              "git push --receive-pack id",
                              "git push --exec=id",
                              "git grep -Oid x",
                              "git grep --open-files-in-pager=id x",
                              "git diff --ext-diff",
                              "git fetch ext::id",
                              "find . -exec id",
                              "find . -execdir id",
                              "find . -ok id",
                              "find . -delete",
                              "find . -fprintf x y",
                              "fd -x id",
                              "fd --exec-b id",
                              "fdfind -X id",
                              "rg --pre id x",
                              "tar --to-command=id -xf x",
                              "tar -Iid -xf x",
                              "tar xIf id x",
                              "tar --checkpoint-action=exec=id -cf x y",
                              "sort --compress-program=id x",
                              "split --filter=id x",
                              "wget -e use_askpass=id x",
                              "curl -K x",
                              "gcc -wrapper id x.c",
                              "gcc -fplugin=x.so x.c",
                              "clang++ -fplugin=x.so x.cc",
                              "cargo build --config x",
                              "go test -exec id",
                              "go build -toolexec=id",
                              "zip x -TT id"}) {
    EXPECT_TRUE(find_command_objection(words_of(command))) << command;
  }
  for (const char* command :
       {"git status", "git status --short", "git log -n 5 --oneline", "git add -u", "git commit -m x",
        "git diff --cached", "git push -u origin x", "find . -name x", "tar -xzf x", "tar xzf x", "sort -u x",
        "gcc -O2 x.c", "cargo test", "go test ./...", "rg -n x", "curl -sS https://x"}) {
    EXPECT_EQ(find_command_objection(words_of(command)).value_or(""), "") << command;
  }
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
