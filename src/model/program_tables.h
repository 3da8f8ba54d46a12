#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

// The tables behind model/program_kinds.h: words separated by blanks.
namespace reeve::model {

// Shells, languages, and programs with a language in which commands can be run: they run a text or a file as a program.
// Lower case, without versions.
inline constexpr std::string_view interpreters =
    "sh bash rbash dash ash zsh ksh mksh pdksh fish csh tcsh elvish nu xonsh pwsh powershell busybox toybox "
    "python python-dbg pypy ipython jupyter perl ruby irb node nodejs deno bun tsx ts-node php lua luajit "
    "tclsh wish expect guile scheme racket sbcl clisp clojure clj julia r rscript octave octave-cli ghci "
    "runghc runhaskell erl escript elixir iex scala groovy java jshell kotlin swift dotnet mono ocaml dart "
    "osascript awk gawk mawk nawk original-awk sed gsed ed ex red dc m4 gnuplot tex latex pdftex pdflatex "
    "xetex luatex lualatex sqlite psql mysql mariadb mongo mongosh redis-cli gdb lldb";

// They start programs that their arguments, their configuration, the folder or the user names: prefixes, remote shells,
// build tools, script runners, terminals, pagers, editors, agents, and programs that are many in one. Lower case,
// without versions.
inline constexpr std::string_view starters =
    "env xargs parallel sudo sudoedit doas su runuser pkexec run0 nice ionice chrt taskset timeout nohup setsid "
    "stdbuf unbuffer script time watch entr watchexec inotifywait flock chroot unshare nsenter bwrap firejail "
    "systemd-run systemd-inhibit systemd-nspawn systemd-cat machinectl capsh setpriv setarch linux prlimit numactl "
    "cgexec cpulimit choom runcon newgrp sg fakeroot fakechroot proot eatmydata torify torsocks proxychains rlwrap "
    "dtach abduco faketime dbus-run-session dbus-launch xvfb-run start-stop-daemon daemonize at batch crontab strace "
    "ltrace perf valgrind rr catchsegv gdbserver ssh-agent direnv sem socat nc ncat netcat run-parts exec command "
    "builtin eval nix nix-shell guix dumb-init tini gosu su-exec hyperfine reptyr ssh scp sftp lftp mosh rsh rsync "
    "rclone ansible ansible-playbook vagrant flatpak snap apptainer singularity distrobox toolbox mpirun mpiexec srun "
    "ccache sccache distcc icecc coreutils kmod lvm find fd fdfind fzf make gmake bmake cmake ctest ninja meson scons "
    "bazel buck ant mvn gradle gradlew sbt rake just task invoke tox nox hatch npx bunx pnpx pipx uvx uv poetry pdm "
    "pipenv conda mamba bundle composer mix stack cabal lerna nx turbo pre-commit husky lefthook act tmux screen xterm "
    "uxterm lxterm rxvt urxvt gnome-terminal konsole kitty alacritty wezterm foot ghostty terminator tilix "
    "xfce4-terminal x-terminal-emulator less more most pg man info view vi vim vimdiff gvim rvim nvim emacs "
    "emacsclient nano pico joe micro code editor pager sensible-editor sensible-pager mc ranger w3m lynx links mutt "
    "mail xdg-open open claude codex gemini qwen opencode aider goose reeve";

// A program, or some of its subcommands, that may be approved with any arguments: it reads and prints. It starts no
// program that its arguments, its input, the folder or a file of the project names, and writes no file, apart from what
// the columns exclude. The name is exact: no version, no other spelling. A program that is added here must have been
// read for this, option by option.
struct PlainProgram {
  static constexpr std::size_t any = std::numeric_limits<std::size_t>::max();

  std::string_view program;
  // Empty: the program has no subcommands.
  std::string_view subcommands = {};
  // Options that run a command, load code, write a file, or choose another configuration or machine: `-x` also in a
  // cluster, `--long` also abbreviated, `-long` and anything else as the beginning of an argument.
  std::string_view options = {};
  // More words that are neither options nor their values would be written to, or make something.
  std::size_t max_operands = any;
  // Options whose value is the next word, where operands are counted.
  std::string_view values = {};
};

inline constexpr auto plain_programs = std::to_array<PlainProgram>({
    {.program = "ls"},
    {.program = "dir"},
    {.program = "cat"},
    {.program = "tac"},
    {.program = "head"},
    {.program = "tail"},
    {.program = "wc"},
    {.program = "nl"},
    {.program = "od"},
    {.program = "hexdump"},
    {.program = "strings"},
    {.program = "cut"},
    {.program = "paste"},
    {.program = "join"},
    {.program = "tr"},
    {.program = "rev"},
    {.program = "fold"},
    {.program = "expand"},
    {.program = "unexpand"},
    {.program = "column"},
    {.program = "numfmt"},
    {.program = "comm"},
    {.program = "cmp"},
    // It sends its output through pr.
    {.program = "diff", .options = "-l --paginate"},
    {.program = "sort", .options = "-o --output --compress-program"},
    // The second file is the output.
    {.program = "uniq", .max_operands = 1, .values = "-f -s -w"},
    {.program = "xxd", .max_operands = 1, .values = "-c -g -l -o -s"},
    {.program = "grep"},
    {.program = "egrep"},
    {.program = "fgrep"},
    {.program = "rg", .options = "--pre --hostname-bin --search-zip -z"},
    {.program = "jq"},
    // -R starts tree again, with an output file.
    {.program = "tree", .options = "-o -R"},
    {.program = "stat"},
    // Compressed files are given to the programs of their formats.
    {.program = "file", .options = "-C --compile -z -Z --uncompress --uncompress-noreport"},
    {.program = "du"},
    {.program = "df"},
    {.program = "lsblk"},
    {.program = "basename"},
    {.program = "dirname"},
    {.program = "realpath"},
    {.program = "readlink"},
    {.program = "pwd"},
    {.program = "which"},
    {.program = "whereis"},
    {.program = "md5sum"},
    {.program = "sha1sum"},
    {.program = "sha224sum"},
    {.program = "sha256sum"},
    {.program = "sha384sum"},
    {.program = "sha512sum"},
    {.program = "b2sum"},
    {.program = "cksum"},
    {.program = "sum"},
    {.program = "base64"},
    {.program = "base32"},
    {.program = "expr"},
    {.program = "seq"},
    {.program = "echo"},
    {.program = "true"},
    {.program = "false"},
    {.program = "sleep"},
    // Only root could set the clock with it.
    {.program = "date"},
    {.program = "cal"},
    {.program = "id"},
    {.program = "whoami"},
    {.program = "groups"},
    {.program = "who"},
    {.program = "tty"},
    {.program = "uname"},
    {.program = "nproc"},
    {.program = "lscpu"},
    {.program = "uptime"},
    {.program = "free"},
    {.program = "ps"},
    {.program = "pgrep"},
    {.program = "pstree"},
    {.program = "locale"},
    {.program = "getent"},
    // Subcommands that run no hook, and filters only as the user's own configuration says. Which repository that is,
    // the engine asks for separately.
    {.program = "git",
     .subcommands =
         "status diff log show blame annotate shortlog describe rev-parse rev-list ls-files ls-tree cat-file "
         "merge-base name-rev for-each-ref show-ref count-objects check-ignore check-attr diff-tree "
         "diff-index diff-files whatchanged range-diff grep cherry version",
     .options = "--output --ext-diff --textconv --filters --open-files-in-pager -O"},
    // Without a name they list.
    {.program = "git",
     .subcommands = "branch",
     .options = "-d -D -m -M -c -C -f -u -t --delete --move --copy --force --set-upstream-to --unset-upstream --track "
                "--edit-description --create-reflog",
     .max_operands = 0,
     .values = "--list"},
    {.program = "git",
     .subcommands = "tag",
     .options = "-a -s -u -d -f -m -F -e -v --annotate --sign --local-user --delete --force --message --file --edit "
                "--verify --create-reflog",
     .max_operands = 0,
     .values = "-l --list"},
    {.program = "git", .subcommands = "remote", .max_operands = 0},
    {.program = "docker", .subcommands = "ps images logs inspect version info stats port diff history"},
    {.program = "podman", .subcommands = "ps images logs inspect version info stats port diff history"},
    // A configuration names programs that log in.
    {.program = "kubectl",
     .subcommands = "get describe logs top version explain api-resources api-versions cluster-info",
     .options = "--kubeconfig --server -s --cache-dir --profile --profile-output --output-directory"},
    {.program = "systemctl",
     .subcommands =
         "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets show cat",
     .options = "-H --host -M --machine --image"},
    {.program = "apt", .subcommands = "list search show policy", .options = "-o --option -c --config-file"},
    {.program = "apt-cache",
     .subcommands = "search show policy depends rdepends",
     .options = "-o --option -c --config-file"},
    {.program = "dpkg-query"},
});

// Programs that start git or are git: what they do depends on the repository that git finds.
inline constexpr std::string_view git_programs = "git gh glab hub jj tig lazygit scalar";

}  // namespace reeve::model
