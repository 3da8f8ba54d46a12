#include "git/repository.h"

#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "git/workshop.h"

namespace reeve::git {

Repository::Repository(std::shared_ptr<Workshop> workshop) : workshop_(std::move(workshop)) {}

std::optional<Repository> Repository::find(const std::filesystem::path& folder, const std::filesystem::path& scratch) {
  auto place = find_place(folder);
  if (!place) return std::nullopt;
  return Repository(std::make_shared<Workshop>(std::move(*place), scratch));
}

const std::filesystem::path& Repository::root() const noexcept { return workshop_->place().root; }

std::optional<std::string> Repository::head() { return workshop_->resolve("HEAD"); }

std::string Repository::get_head() {
  if (auto found = head()) return std::move(*found);
  throw base::Error("git.no_commits", "the repository `" + root().string() + "` has no commits to begin with",
                    "make the first one: git add . && git commit");
}

std::optional<std::string> Repository::find_ref(const std::string& ref) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  return workshop_->resolve(ref);
}

bool Repository::has_commit(const std::string& commit) {
  return run(workshop_->ours({"cat-file", "-e", commit + "^{commit}"})).code == 0;
}

bool Repository::set_ref(const std::string& ref, const std::string& commit,
                         const std::optional<std::string>& expected) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  // An empty old value stands for: not there.
  const Call call = workshop_->theirs({"update-ref", "--no-deref", "-m", "reeve", ref, commit, expected.value_or("")});
  const Outcome outcome = run(call);
  if (outcome.code == 0) return true;
  if (find_ref(ref) != expected) return false;
  fail(call, outcome);
}

bool Repository::delete_ref(const std::string& ref, const std::string& expected) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  const auto found = find_ref(ref);
  if (!found) return true;
  if (found != expected) return false;
  const Call call = workshop_->theirs({"update-ref", "--no-deref", "-d", ref, expected});
  const Outcome outcome = run(call);
  if (outcome.code == 0) return true;
  const auto now = find_ref(ref);
  if (now != expected) return !now;
  fail(call, outcome);
}

std::vector<Repository::Ref> Repository::list_refs(const std::string& prefix) {
  REEVE_ASSERT(prefix.starts_with("refs/"));
  // git itself looks for whole names of folders.
  const std::string folder = prefix.substr(0, prefix.rfind('/') + 1);
  const std::string output = demand(workshop_->theirs({"for-each-ref", "--format=%(objectname) %(refname)", folder}));
  std::vector<Ref> refs;
  for (const std::string_view line : base::split(output, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || !line.substr(blank + 1).starts_with(prefix)) continue;
    refs.push_back({.name = std::string(line.substr(blank + 1)), .commit = std::string(line.substr(0, blank))});
  }
  return refs;
}

}  // namespace reeve::git
