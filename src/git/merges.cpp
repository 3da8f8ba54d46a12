#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "git/git_context.h"
#include "git/repository.h"

namespace reeve::git {

namespace {

constexpr std::size_t max_diff_bytes = 4 * base::limits::mib;

struct MergedTree {
  std::string tree;
  std::vector<std::string> conflicts;
};

MergedTree merge_trees(const GitContext& context, const std::string& ours, const std::string& theirs) {
  Call call = context.sandboxed_like(ours, {"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
                                            "--allow-unrelated-histories", ours, theirs});
  call.limit = std::chrono::minutes(5);
  const Outcome outcome = run(call);
  // 1 means conflicts.
  if (outcome.code > 1 || outcome.is_cut) fail(call, outcome);
  const auto words = split_at_nul(outcome.output);
  if (words.empty()) fail(call, outcome);
  MergedTree merged{.tree = words.front(), .conflicts = {}};
  if (outcome.code == 0) return merged;
  for (auto name = words.begin() + 1; name != words.end(); ++name) {
    merged.conflicts.push_back(base::replace_invalid_utf8(*name));
  }
  // Never treat this as a clean merge, whatever was printed.
  if (merged.conflicts.empty()) merged.conflicts.emplace_back("?");
  return merged;
}

std::int64_t to_number(std::string_view text) {
  std::int64_t number = 0;
  // "-" means a binary file, and leaves 0.
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<std::string> diff_words(std::vector<std::string> how, const std::string& from, const std::string& to) {
  how.insert(how.begin(), {"diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color",
                           "--ignore-submodules=dirty"});
  how.insert(how.end(), {from, to});
  return how;
}

// Whether the set contains the path, or one above or below it.
bool meets(const std::set<std::string>& paths, const std::string& path) {
  if (paths.contains(path)) return true;
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    if (paths.contains(path.substr(0, at))) return true;
  }
  const auto below = paths.lower_bound(path + '/');
  return below != paths.end() && below->starts_with(path + '/');
}

}  // namespace

std::string Repository::tree_of(const std::string& commit) { return context_->tree_of(commit); }

bool Repository::is_ancestor(const std::string& ancestor, const std::string& commit) {
  const Call call = context_->sandboxed({"merge-base", "--is-ancestor", ancestor, commit});
  const Outcome outcome = run(call);
  if (outcome.code > 1) fail(call, outcome);
  return outcome.code == 0;
}

Repository::Merged Repository::merge(const std::string& ours, const std::string& theirs, const std::string& message) {
  if (is_ancestor(ours, theirs)) return {.commit = theirs, .conflicts = {}};
  if (is_ancestor(theirs, ours)) return {.commit = ours, .conflicts = {}};
  MergedTree merged = merge_trees(*context_, ours, theirs);
  if (!merged.conflicts.empty()) return {.commit = std::nullopt, .conflicts = std::move(merged.conflicts)};
  return {.commit = context_->commit_tree(merged.tree, {ours, theirs}, message), .conflicts = {}};
}

Repository::Merged Repository::revert(const std::string& from, const std::string& to, const std::string& onto,
                                      const std::string& message) {
  // merge-tree determines the base from the history: three temporary commits make `to` the base.
  const std::string base = context_->commit_tree(context_->tree_of(to), {}, "base");
  const std::string before = context_->commit_tree(context_->tree_of(from), {base}, "before");
  const std::string now = context_->commit_tree(context_->tree_of(onto), {base}, "now");
  MergedTree merged = merge_trees(*context_, now, before);
  if (!merged.conflicts.empty()) return {.commit = std::nullopt, .conflicts = std::move(merged.conflicts)};
  if (merged.tree == context_->tree_of(onto)) return {.commit = onto, .conflicts = {}};
  return {.commit = context_->commit_tree(merged.tree, {onto}, message), .conflicts = {}};
}

std::string Repository::carry(const std::string& from, const std::string& to, const std::string& onto,
                              const std::string& message) {
  const auto list = split_at_nul(demand(context_->sandboxed(diff_words({"-z", "--name-only"}, onto, from))));
  const std::set<std::string> left_out(list.begin(), list.end());
  // Two fields per change: ":MODE MODE HASH HASH STATUS" and the path.
  const auto changes = split_at_nul(demand(context_->sandboxed(diff_words({"-z", "--raw", "--no-abbrev"}, from, to))));
  std::string entries;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    const auto words = base::split(changes[i], ' ');
    if (words.size() != 5 || meets(left_out, changes[i + 1])) continue;
    entries.append(words[1]).append(" ").append(words[3]).append("\t").append(changes[i + 1]).push_back('\0');
  }
  if (entries.empty()) return onto;
  const std::filesystem::path index = context_->make_index_name("carry");
  const auto with_index = [&](std::vector<std::string> words, std::string input) {
    Call call = context_->sandboxed(std::move(words));
    call.index = index;
    call.input = std::move(input);
    return demand(call);
  };
  with_index({"read-tree", onto}, "");
  with_index({"update-index", "-z", "--index-info"}, std::move(entries));
  const std::string tree(base::trim(with_index({"write-tree"}, "")));
  std::error_code error;
  std::filesystem::remove(index, error);
  return tree == context_->tree_of(onto) ? onto : context_->commit_tree(tree, {onto}, message);
}

std::vector<std::string> Repository::list_changed(const std::string& from, const std::string& to) {
  std::vector<std::string> paths;
  for (const std::string& name :
       split_at_nul(demand(context_->sandboxed(diff_words({"-z", "--name-only"}, from, to))))) {
    paths.push_back(base::replace_invalid_utf8(name));
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> Repository::list_moved_submodules(const std::string& from, const std::string& to) {
  constexpr std::string_view link_mode = "160000";
  const auto changes = split_at_nul(demand(context_->sandboxed(diff_words({"-z", "--raw", "--no-abbrev"}, from, to))));
  std::vector<std::string> paths;
  for (std::size_t i = 0; i + 1 < changes.size(); i += 2) {
    const auto words = base::split(changes[i], ' ');
    if (words.size() == 5 && words[1] == link_mode) paths.push_back(base::replace_invalid_utf8(changes[i + 1]));
  }
  return paths;
}

Repository::Diff Repository::diff(const std::string& from, const std::string& to) {
  Diff made;
  // Only an exact rename keeps what the file contained.
  const auto names = split_at_nul(
      demand(context_->sandboxed_like(to, diff_words({"-z", "-M100%", "--diff-filter=D", "--name-only"}, from, to))));
  const std::set<std::string> deleted(names.begin(), names.end());
  for (const std::string& line :
       split_at_nul(demand(context_->sandboxed_like(to, diff_words({"-z", "--numstat"}, from, to))))) {
    // ADDED \t REMOVED \t PATH; the path may contain tabs.
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    made.files.push_back({.path = base::replace_invalid_utf8(path),
                          .added = to_number(std::string_view(line).substr(0, first)),
                          .removed = to_number(std::string_view(line).substr(first + 1, second - first - 1)),
                          .is_deleted = deleted.contains(path)});
  }
  Call call = context_->sandboxed_like(to, diff_words({"-p"}, from, to));
  call.max_output = max_diff_bytes;
  call.settings.emplace_back("core.quotePath=false");
  Outcome outcome = run(call);
  if (outcome.code != 0 && !outcome.is_cut) fail(call, outcome);
  made.text = base::replace_invalid_utf8(outcome.output);
  made.is_cut = outcome.is_cut;
  if (made.text.size() > max_diff_bytes) {
    made.text.resize(base::truncate_utf8(made.text, max_diff_bytes).size());
    made.is_cut = true;
  }
  if (made.is_cut) made.text.resize(made.text.rfind('\n') + 1);
  return made;
}

}  // namespace reeve::git
