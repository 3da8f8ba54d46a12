#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"

// The only way in which Reeve calls git.
namespace reeve::git {

// Which settings git reads besides the repository's: none, or the user's own. The latter is only for `git config`,
// which reads but executes nothing.
enum class ConfigOf { nobody, person };

// What git may access: only the local repository, or remotes by URL. Only then does it get the user's home folder, for
// ssh and credential helpers.
enum class Reach { nothing, remotes };

struct Call {
  // The command and its arguments: {"update-ref", …}.
  std::vector<std::string> words;
  // Always given, never searched for: files in a worktree are not trusted.
  std::filesystem::path git_folder;
  // A file for git's standard error. git and all processes that it starts hold a lock on it: a call first waits for a
  // git that outlived a killed daemon, because the two would interfere.
  std::filesystem::path said;
  // Also the command's working directory; "/" if empty.
  std::filesystem::path work_tree = {};
  std::filesystem::path index = {};
  // "core.eol=lf": override every config file.
  std::vector<std::string> settings = {};
  // "NAME=value", in addition to the fixed ones.
  std::vector<std::string> environment = {};
  std::string input = {};
  ConfigOf config = ConfigOf::nobody;
  Reach reach = Reach::nothing;
  // Polled: true ends the command as if its time limit were reached.
  std::function<bool()> gives_up = {};
  base::Milliseconds limit = std::chrono::seconds(60);
  // Limit for standard output. Further output is cut off, and git is killed.
  std::size_t max_output = 64 * base::limits::mib;
};

struct Outcome {
  // -1 if git was killed because of too much output.
  int code = 0;
  std::string output;
  // Its error message, in one line.
  std::string said;
  bool is_cut = false;
};

// Runs git to its end, without a shell, in its own session of which no process survives, and with a fixed environment:
// no hooks, monitors, pager, editor or prompts, and no network unless requested. Throws `git.missing`, `git.timeout`
// and, if git was killed by a signal, `git.failed`.
Outcome run(const Call& call);
// Returns the output. Throws `git.failed` if git fails or its output exceeds the limit.
std::string demand(const Call& call);
// Throws the failure of that call.
[[noreturn]] void fail(const Call& call, const Outcome& outcome);

// The fields of `-z` output, without the empty last one.
std::vector<std::string> split_at_nul(std::string_view output);
std::string join_with_nul(const std::vector<std::string>& words);

}  // namespace reeve::git
