#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/git_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_notes = 10;
constexpr std::string_view branch_prefix = "refs/heads/";

// Changed and new files; ignored ones and repositories inside the worktree are left out.
std::vector<std::string> list_addable(const WorktreeGit& git, const std::vector<std::string>& wanted,
                                      ResultText& result) {
  const auto list = [&](std::vector<std::string> words) {
    words.emplace_back("--");
    std::ranges::copy(wanted, std::back_inserter(words));
    return git::split_at_nul(git::demand(git.in_worktree(std::move(words))));
  };
  std::vector<std::string> names = list({"diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"});
  for (std::string& name : list({"ls-files", "-z", "--others", "--exclude-standard"})) {
    if (name.ends_with('/')) {
      result.note(fmt::format("{} was left out: it is a repository of its own", shown(name)));
    } else {
      names.push_back(std::move(name));
    }
  }
  std::ranges::sort(names);
  const auto rest = std::ranges::unique(names);
  names.erase(rest.begin(), rest.end());
  return names;
}

bool has_identity(const WorktreeGit& git) {
  git::Call call = git.in_repository({"config", "--includes", "-z", "--get-regexp", R"(^user\.(name|email)$)"});
  call.config = git::ConfigOf::person;
  const git::Outcome outcome = git::run(call);
  bool has_name = false;
  bool has_email = false;
  for (const std::string& entry : git::split_at_nul(outcome.output)) {
    const std::size_t end = std::min(entry.find('\n'), entry.size());
    const bool is_given = !base::trim(std::string_view(entry).substr(end)).empty();
    (entry.starts_with("user.name") ? has_name : has_email) = is_given;
  }
  return outcome.code == 0 && has_name && has_email;
}

const char* find_operation(const git::Place& place) {
  constexpr auto traces = std::to_array(
      {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_START", "rebase-merge", "rebase-apply", "sequencer"});
  std::error_code error;
  for (const char* trace : traces) {
    if (fs::exists(fs::symlink_status(place.own / trace, error))) return trace;
  }
  return nullptr;
}

// HEAD can be pointed at a branch that another checkout has, whose files would then seem to be changed.
bool is_checked_out_elsewhere(const WorktreeGit& git, const std::string& ref) {
  const std::string listed = git::demand(git.in_repository({"worktree", "list", "--porcelain", "-z"}));
  std::string folder;
  for (const std::string& line : git::split_at_nul(listed)) {
    if (line.starts_with("worktree ")) folder = line.substr(line.find(' ') + 1);
    if (line == "branch " + ref && fs::path(folder) != git.place().root) return true;
  }
  return false;
}

std::string find_commit_fault(const WorktreeGit& git, const std::optional<std::string>& ref) {
  if (const char* operation = find_operation(git.place())) {
    return fmt::format("an operation is in progress ({}); finish it with git", operation);
  }
  if (!has_identity(git)) return "git has no identity here; set user.name and user.email in git's config";
  if (ref && !ref->starts_with(branch_prefix)) return "HEAD is not on a branch";
  if (ref && is_checked_out_elsewhere(git, *ref)) return fmt::format("{} is checked out elsewhere", shown(*ref));
  return "";
}

// The reflog entry has a fixed author and text: git appends it to a file that could have become a symlink.
bool move_head(const WorktreeGit& git, const std::optional<std::string>& ref, const std::string& commit,
               const std::optional<std::string>& expected) {
  git::Call call = git.in_repository(
      {"update-ref", "--no-deref", "-m", "reeve: git_commit", ref.value_or("HEAD"), commit, expected.value_or("")});
  std::erase_if(call.environment, [](const std::string& entry) { return entry.starts_with("GIT_COMMITTER_"); });
  call.environment.insert(call.environment.end(), {"GIT_COMMITTER_NAME=Reeve", "GIT_COMMITTER_EMAIL=reeve@localhost"});
  const git::Outcome outcome = git::run(call);
  if (outcome.code == 0) return true;
  if (git.find_commit("HEAD") != expected) return false;
  git::fail(call, outcome);
}

// What is staged outside the worktree, if that is only a part of the checkout.
std::optional<std::string> find_foreign_change(const WorktreeGit& git, const std::optional<std::string>& head) {
  if (git.prefix().empty()) return std::nullopt;
  const git::Call call =
      head ? git.in_copies({"diff-index", "-z", "--cached", "--name-only", "--no-renames", *head, "--"})
           : git.in_copies({"ls-files", "-z"});
  for (std::string& name : git::split_at_nul(git::demand(call))) {
    if (!name.starts_with(git.prefix())) return std::move(name);
  }
  return std::nullopt;
}

}  // namespace

wire::CallResult git_add_tool(WorktreeGit& git, const base::Value& arguments) {
  const auto wanted = git.find_names(list_texts(arguments, "paths"));
  if (!wanted) return make_failure(wanted.error());
  ResultText result;
  git.copy_index();
  const std::vector<std::string> names = list_addable(git, *wanted, result);
  const WorktreeGit::Copies copies = git.copy_files(names);
  for (std::size_t i = 0; i < std::min(copies.refused.size(), max_notes); ++i) result.note(copies.refused[i]);
  if (copies.refused.size() > max_notes) {
    result.note(fmt::format("{} more files were left out", copies.refused.size() - max_notes));
  }
  if (copies.names.empty()) {
    result.note("nothing was staged: the files are unchanged, ignored, missing or left out");
    wire::CallResult nothing = std::move(result).finish();
    nothing.is_error = true;
    return nothing;
  }
  // git's own lock on the index keeps other gits out.
  git::Call call = git.in_copies({"update-index", "--add", "--remove", "--replace", "-z", "--stdin"});
  call.index = git.place().own / "index";
  call.input = git::join_with_nul(copies.names);
  git::demand(call);
  // The index describes the copies; their content equals that of the files unless these changed meanwhile.
  git::Call refresh = git.in_worktree({"update-index", "-q", "--refresh", "--ignore-submodules"});
  refresh.index = call.index;
  git::run(refresh);
  for (const std::string& name : copies.names) {
    if (!result.add_whole("staged " + base::visible(name) + "\n")) break;
  }
  if (result.is_full()) result.note(fmt::format("cut: {} files were staged", copies.names.size()));
  return std::move(result).finish();
}

wire::CallResult git_commit_tool(WorktreeGit& git, const base::Value& arguments) {
  const std::string message = find_text(arguments, "message").value_or("");
  if (base::trim(message).empty()) return make_failure("the message is empty");
  const auto refuse = [](std::string_view why) { return make_failure(fmt::format("cannot commit: {}", why)); };
  const auto ref = git.find_branch_ref();
  if (const std::string fault = find_commit_fault(git, ref); !fault.empty()) return refuse(fault);
  const auto head = git.find_commit("HEAD");
  git.copy_index();
  if (const auto name = find_foreign_change(git, head)) {
    return refuse(fmt::format("{} is staged, which is outside the worktree", shown(*name)));
  }
  const std::string tree(base::trim(git::demand(git.in_copies({"write-tree"}))));
  const bool has_files = head || !git::demand(git.in_copies({"ls-files", "-z"})).empty();
  if (!has_files || (head && tree == git.context()->tree_of(*head))) return refuse("nothing is staged");
  const std::vector<std::string> parents = head ? std::vector{*head} : std::vector<std::string>();
  const std::string commit = git.context()->commit_tree(tree, parents, message);
  if (!move_head(git, ref, commit, head)) return refuse("the branch was moved meanwhile");
  const std::string where = ref ? shown(std::string_view(*ref).substr(branch_prefix.size())) : "a detached HEAD";
  return {.is_error = false, .content = fmt::format("committed {} on {}\n", commit, where), .hint = {}};
}

}  // namespace reeve::runtime
