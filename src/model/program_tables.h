#pragma once

#include <array>
#include <string_view>

// The tables behind model/program_kinds.h: words separated by blanks. Names are lower case and without versions.
namespace reeve::model {

// Shells, languages, and programs with a language in which commands can be run: they run a text or a file as a program.
inline constexpr std::string_view interpreters =
    "sh bash rbash dash ash zsh ksh mksh pdksh fish csh tcsh elvish nu xonsh pwsh powershell busybox toybox "
    "python python-dbg pypy ipython jupyter perl ruby irb node nodejs deno bun tsx ts-node php lua luajit "
    "tclsh wish expect guile scheme racket sbcl clisp clojure clj julia r rscript octave octave-cli ghci "
    "runghc runhaskell erl escript elixir iex scala groovy java jshell kotlin swift dotnet mono ocaml dart "
    "osascript awk gawk mawk nawk original-awk sed gsed ed ex red dc m4 gnuplot tex latex pdftex pdflatex "
    "xetex luatex lualatex sqlite psql mysql mariadb mongo mongosh redis-cli gdb lldb";

// They start programs that their arguments, their configuration, the folder or the user names: prefixes, remote shells,
// build tools, script runners, terminals, pagers, editors, agents.
inline constexpr std::string_view starters =
    "env xargs parallel sudo sudoedit doas su runuser pkexec nice ionice chrt taskset timeout nohup setsid "
    "stdbuf unbuffer script time watch entr inotifywait flock chroot unshare nsenter bwrap firejail "
    "systemd-run systemd-inhibit capsh setpriv setarch linux prlimit numactl cgexec fakeroot fakechroot proot "
    "faketime dbus-run-session dbus-launch xvfb-run start-stop-daemon at batch crontab strace ltrace perf "
    "valgrind rr catchsegv ssh-agent direnv sem socat nc ncat netcat run-parts xterm exec command builtin eval "
    "nix nix-shell guix dumb-init tini gosu su-exec hyperfine reptyr ssh scp sftp mosh rsh rsync rclone "
    "ansible ansible-playbook vagrant make gmake bmake cmake ctest ninja meson scons bazel buck ant mvn gradle "
    "gradlew sbt rake just task invoke tox nox hatch npx bunx pnpx pipx uvx uv poetry pdm pipenv conda mamba "
    "bundle composer mix stack cabal lerna nx turbo pre-commit husky lefthook act tmux screen less more most "
    "pg man info view vi vim vimdiff gvim rvim nvim emacs emacsclient nano pico joe micro code editor pager "
    "sensible-editor sensible-pager mc ranger w3m lynx links mutt mail xdg-open open claude codex gemini qwen "
    "opencode aider goose reeve";

// Programs whose second word says what they do.
struct ProgramSubcommands {
  std::string_view program;
  // Those that start no program which the arguments or the folder name, separated by blanks.
  std::string_view approvable;
};
inline constexpr auto programs_with_subcommands = std::to_array<ProgramSubcommands>({
    {"git",
     "status add blame branch cat-file check-ignore checkout cherry-pick clean commit count-objects describe diff "
     "fetch for-each-ref grep init log ls-files ls-remote ls-tree merge merge-base mv name-rev pull push range-diff "
     "reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref stash switch tag version "
     "whatchanged worktree"},
    {"hg", "status diff log annotate branches summary"},
    {"svn", "status diff log info list blame"},
    {"gh", "pr issue run release status search"},
    {"docker", "ps images logs inspect version info stats top port diff history search pull"},
    {"podman", "ps images logs inspect version info stats top port diff history search pull"},
    {"docker-compose", "ps logs images top version"},
    {"kubectl", "get describe logs top version explain api-resources api-versions cluster-info"},
    {"helm", "list status history version search show"},
    {"terraform", "version show validate fmt output"},
    {"systemctl", "status is-active is-enabled is-failed list-units list-unit-files list-timers show cat"},
    {"npm", "ls list view info outdated audit ping search root prefix"},
    {"pnpm", "list ls why outdated audit"},
    {"yarn", "list why info outdated audit"},
    {"pip", "list show freeze check"},
    {"cargo", "check build test clippy fmt doc tree metadata fetch search update clean version bench"},
    {"rustup", "show check"},
    {"go", "build vet fmt list test version doc"},
    {"gem", "list search info"},
    {"brew", "list info search outdated"},
    {"apt", "list search show policy"},
    {"apt-get", "check"},
    {"apt-cache", "search show policy depends rdepends"},
    {"dnf", "list search info"},
    {"yum", "list search info"},
    {"snap", "list info find"},
    {"ip", "addr address link route neigh neighbour"},
    {"openssl", "version dgst x509 rand"},
});

// Options that run a command, load code, or write a file that is later run: `-x` also in a cluster, `--long` also
// abbreviated, `-long` and anything else as the beginning of an argument.
struct CommandOptions {
  std::string_view program;
  std::string_view options;
};
inline constexpr auto command_options = std::to_array<CommandOptions>({
    {"git",
     "--exec --exec-path --upload-pack --receive-pack --ext-diff --textconv --config --config-env "
     "--open-files-in-pager --template --output --extcmd --strategy --edit-description ext:: -O"},
    {"hg", "--config --debugger"},
    {"svn", "--diff-cmd --editor-cmd --config-option --config-dir"},
    {"find", "-exec -ok -delete -fprint -fls"},
    {"fd", "-x -X --exec --exec-batch"},
    {"fdfind", "-x -X --exec --exec-batch"},
    {"rg", "--pre --hostname-bin"},
    {"ag", "--pager"},
    {"bat", "--pager"},
    {"batcat", "--pager"},
    {"tar",
     "--to-command --checkpoint-action --use-compress-program --info-script --new-volume-script --rsh-command "
     "--rmt-command -I -F"},
    {"bsdtar", "--use-compress-program"},
    {"zip", "-TT --unzip-command"},
    {"sort", "--compress-program"},
    {"split", "--filter"},
    {"csplit", "--filter"},
    {"wget", "--execute --use-askpass --config -e"},
    {"curl", "--config -K"},
    {"gcc", "-wrapper -B -specs -fplugin"},
    {"g++", "-wrapper -B -specs -fplugin"},
    {"cc", "-wrapper -B -specs -fplugin"},
    {"c++", "-wrapper -B -specs -fplugin"},
    {"clang", "-fplugin -B -load"},
    {"clang++", "-fplugin -B -load"},
    {"clang-tidy", "--load -load"},
    {"cargo", "--config -Z"},
    {"go", "-toolexec --toolexec -exec --exec -vettool --vettool -overlay --overlay -modfile --modfile"},
    {"kubectl", "--kubeconfig"},
    {"helm", "--kubeconfig --post-renderer"},
    {"docker", "--config"},
    {"openssl", "-engine -provider"},
    {"npm", "--script-shell --node-options --userconfig --globalconfig --prefix -C"},
    {"pip", "--python"},
    {"tcpdump", "-z"},
    {"nmap", "--script"},
    {"ctags", "--options"},
    {"pytest", "-p -c --rootdir -o"},
    {"apt", "--option -o -c --config-file"},
    {"apt-get", "-o -c"},
    {"apt-cache", "-o -c"},
    {"systemctl", "-H --host -M"},
    {"ip", "-batch"},
    {"jq", "-L"},
});

}  // namespace reeve::model
