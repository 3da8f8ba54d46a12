#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "engine/call_path.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/git_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t max_files = 2'000;
constexpr std::size_t max_name_bytes = 512 * base::limits::kib;
constexpr std::size_t max_notes = 10;

class Difference {
 public:
  Difference(WorktreeGit& git, const base::Value& arguments)
      : git_(git), paths_(list_texts(arguments, "paths")), is_staged_(has_flag(arguments, "staged")) {}

  wire::CallResult show(const std::optional<std::string>& against) {
    const auto wanted = git_.find_names(paths_);
    if (!wanted) return make_failure(wanted.error());
    git_.copy_index();
    const std::string from = find_old_tree(against);
    std::vector<std::string> names = list_changed(*wanted, from, against.has_value());
    leave_out(names, *wanted);
    const std::string to = make_new_tree(names);
    // Without paths, git would compare everything.
    if (names.empty()) {
      result_.note("no differences");
      return std::move(result_).finish();
    }
    std::vector<std::string> words = {"diff-tree",
                                      "-r",
                                      "-p",
                                      "--no-color",
                                      "--no-ext-diff",
                                      "--no-textconv",
                                      "-M",
                                      "-l200",
                                      "--ignore-submodules=dirty",
                                      from,
                                      to,
                                      "--"};
    std::ranges::copy(names, std::back_inserter(words));
    git::Call call = git_.in_private_copies(std::move(words));
    call.max_output = max_hosted_content;
    const git::Outcome outcome = git::run(call);
    if (outcome.code != 0 && !outcome.is_cut) git::fail(call, outcome);
    if (outcome.output.empty()) result_.note("no differences");
    if (!result_.add(outcome.output) || outcome.is_cut) result_.note("cut: the patch is too large; give `paths`");
    return std::move(result_).finish();
  }

 private:
  // A tree or commit.
  std::string find_old_tree(const std::optional<std::string>& against) {
    if (against) return *against;
    const git::Outcome written = git::run(git_.in_private_copies({"write-tree"}));
    if (!is_staged_ && written.code == 0) return std::string(base::trim(written.output));
    if (!is_staged_) result_.note("the index has conflicts, so the files are compared with HEAD");
    if (auto head = git_.find_commit("HEAD")) return *head;
    // Before the first commit: the empty tree.
    git::Call call = git_.in_private_copies({"mktree"});
    return std::string(base::trim(git::demand(call)));
  }

  std::vector<std::string> list_changed(const std::vector<std::string>& wanted, const std::string& from,
                                        bool is_against) const {
    std::vector<std::string> words = {"-z", "--name-only", "--no-renames", "--ignore-submodules=all"};
    if (is_staged_) words.emplace_back("--cached");
    const bool needs_tree = is_staged_ || is_against;
    words.insert(words.begin(), needs_tree ? "diff-index" : "diff-files");
    if (needs_tree) words.push_back(from);
    words.emplace_back("--");
    std::ranges::copy(wanted, std::back_inserter(words));
    git::Call call = git_.in_worktree(std::move(words));
    if (is_staged_) call.work_tree = git_.in_copies({"diff-index"}).work_tree;
    std::vector<std::string> names = git::split_at_nul(git::demand(call));
    std::ranges::sort(names);
    const auto rest = std::ranges::unique(names);
    names.erase(rest.begin(), rest.end());
    return names;
  }

  // Files whose names suggest secrets are shown only if a path leads to them: only such a path has been judged.
  void leave_out(std::vector<std::string>& names, const std::vector<std::string>& wanted) {
    const auto is_named = [&](const std::string& name) {
      return std::ranges::any_of(wanted, [&](const std::string& path) {
        return engine::names_secret_file(path) && (name == path || name.starts_with(path + "/"));
      });
    };
    const auto hidden = std::erase_if(
        names, [&](const std::string& name) { return engine::names_secret_file(name) && !is_named(name); });
    if (hidden > 0) {
      result_.note(fmt::format("{} files whose names suggest secrets are not shown; name them in `paths`", hidden));
    }
    std::size_t bytes = 0;
    std::size_t kept = 0;
    while (kept < names.size() && kept < max_files && bytes < max_name_bytes) bytes += names[kept++].size() + 1;
    if (kept == names.size()) return;
    result_.note(fmt::format("cut: {} changed files, the first {} are shown; give `paths`", names.size(), kept));
    names.resize(kept);
  }

  std::string make_new_tree(std::vector<std::string>& names) {
    if (!is_staged_ && !names.empty()) {
      WorktreeGit::Copies copies = git_.copy_files(names);
      for (const std::string& sentence : copies.refused | std::views::take(max_notes)) result_.note(sentence);
      names = std::move(copies.names);
      git::Call call = git_.in_private_copies({"update-index", "--add", "--remove", "--replace", "-z", "--stdin"});
      call.input = git::join_with_nul(names);
      if (!names.empty()) git::demand(call);
    }
    return std::string(base::trim(git::demand(git_.in_private_copies({"write-tree"}))));
  }

  WorktreeGit& git_;
  std::vector<std::string> paths_;
  bool is_staged_;
  ResultText result_;
};

}  // namespace

wire::CallResult git_diff_tool(WorktreeGit& git, const base::Value& arguments) {
  const auto revision = find_text(arguments, "against");
  const auto against = revision ? git.find_commit(*revision) : std::nullopt;
  if (revision && !against) return make_failure(fmt::format("{} is not a commit", shown(*revision)));
  return Difference(git, arguments).show(against);
}

}  // namespace reeve::runtime
