#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"

// The one way in which Reeve calls git.
namespace reeve::git {

// Whose settings git reads beside those of the repository: nobody's, or the person's own, which is only for
// `git config`: it reads and executes nothing.
enum class ConfigOf { nobody, person };

// What git may reach: this machine's repository alone, or others by URL. Only then has it a home folder: the person's,
// for what ssh and credential helpers know.
enum class Reach { nothing, remotes };

struct Call {
  // The command and its arguments: {"update-ref", …}.
  std::vector<std::string> words;
  // Always named, never looked for: what lies in a worktree is not believed.
  std::filesystem::path git_folder;
  // A file that takes what git says on standard error. git and all that it starts hold a lock on it: a call waits until
  // one that outlived a killed daemon is over, which would work against it.
  std::filesystem::path said;
  // Where the command starts too; without one that is "/".
  std::filesystem::path work_tree = {};
  std::filesystem::path index = {};
  // "core.eol=lf": they win over every file.
  std::vector<std::string> settings = {};
  // "NAME=value", beside the fixed ones.
  std::vector<std::string> environment = {};
  std::string input = {};
  ConfigOf config = ConfigOf::nobody;
  Reach reach = Reach::nothing;
  // Looked at now and then: whether it is to be ended, as if its time were over.
  std::function<bool()> gives_up = {};
  base::Milliseconds limit = std::chrono::seconds(60);
  // Of standard output. More is cut off, and git ended.
  std::size_t most_output = 64 * base::limits::mib;
};

struct Outcome {
  // -1 when it was ended because its output was too much.
  int code = 0;
  std::string output;
  // What it said about what went wrong, in one line.
  std::string said;
  bool is_cut = false;
};

// Runs it to its end, without a shell, in a session of its own that nothing of survives, with an environment made here:
// no hooks, no monitors, no pager, no editor, no question, and no network unless that is said. Throws `git.missing`,
// `git.timeout` and, when git was ended by a signal, `git.failed`.
Outcome run(const Call& call);
// Its output. Throws `git.failed` when it fails or says more than it may.
std::string demand(const Call& call);
// The failure of that call, to be thrown.
[[noreturn]] void fail(const Call& call, const Outcome& outcome);

// What `-z` separates, without the last empty one.
std::vector<std::string> split_at_nul(std::string_view output);
std::string join_with_nul(const std::vector<std::string>& words);

}  // namespace reeve::git
