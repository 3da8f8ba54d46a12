#include <fmt/format.h>

#include "base/limits.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/git_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

constexpr std::int64_t default_commits = 20;

// Runs git and shows what it writes.
wire::CallResult show(git::Call call, const char* when_cut, ResultText result = {}) {
  call.max_output = max_hosted_content;
  const git::Outcome outcome = git::run(call);
  if (outcome.code != 0 && !outcome.is_cut) git::fail(call, outcome);
  if (outcome.output.empty()) result.note("no commits");
  if (!result.add(outcome.output) || outcome.is_cut) result.note(when_cut);
  return std::move(result).finish();
}

}  // namespace

wire::CallResult git_log_tool(WorktreeGit& git, const base::Value& arguments) {
  const auto path = find_text(arguments, "path");
  const auto names = git.find_names(path ? std::vector{*path} : std::vector<std::string>());
  if (!names) return make_failure(names.error());
  const auto head = git.find_commit("HEAD");
  if (!head) return make_failure("the branch has no commits");
  const std::int64_t limit = find_number(arguments, "limit").value_or(default_commits);
  std::vector<std::string> words = {"log",
                                    fmt::format("--max-count={}", limit),
                                    "--no-color",
                                    "--no-decorate",
                                    "--no-notes",
                                    "--no-mailmap",
                                    "--no-ext-diff",
                                    "--no-textconv",
                                    "--no-patch",
                                    "--encoding=UTF-8",
                                    "--format=commit %H%nAuthor: %an <%ae>%nDate: %aI%n%n%w(0,4,4)%B",
                                    *head,
                                    "--"};
  // Without a path, git does not have to compare trees.
  if (names->front() != ".") words.push_back(names->front());
  return show(git.in_copies(std::move(words)), "cut: the log is too large; give a smaller `limit`");
}

wire::CallResult git_blame_tool(WorktreeGit& git, const base::Value& arguments) {
  const auto names = git.find_names({find_text(arguments, "path").value_or("")});
  if (!names) return make_failure(names.error());
  const auto head = git.find_commit("HEAD");
  if (!head) return make_failure("the branch has no commits");
  const std::int64_t from = find_number(arguments, "from").value_or(1);
  const auto to = find_number(arguments, "to");
  ResultText result;
  git.copy_index();
  const git::Outcome changed =
      git::run(git.in_worktree({"diff-index", "--quiet", "--ignore-submodules=all", *head, "--", names->front()}));
  if (changed.code == 1) result.note("the file has changes that are not committed; line numbers are those of HEAD");
  git::Call call =
      git.in_copies({"blame", "--date=short", "--no-progress", "--encoding=UTF-8",
                     fmt::format("-L{},{}", from, to ? std::to_string(*to) : ""), *head, "--", names->front()});
  return show(std::move(call), "cut: the result is too large; give `from` and `to`", std::move(result));
}

}  // namespace reeve::runtime
