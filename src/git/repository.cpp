#include "git/repository.h"

#include <utility>

#include "base/error.h"
#include "git/git_context.h"

namespace reeve::git {

Repository::Repository(std::shared_ptr<GitContext> context) : context_(std::move(context)) {}

std::optional<Repository> Repository::find(const std::filesystem::path& folder, const std::filesystem::path& scratch) {
  auto place = find_place(folder);
  if (!place) return std::nullopt;
  return Repository(std::make_shared<GitContext>(std::move(*place), scratch));
}

const std::filesystem::path& Repository::root() const noexcept { return context_->place().root; }

std::optional<std::string> Repository::head() { return context_->resolve("HEAD"); }

std::string Repository::get_head() {
  if (auto found = head()) return std::move(*found);
  throw base::Error(base::ErrorCode::git_no_commits, "the repository `" + root().string() + "` has no commits",
                    "create the first one: git add . && git commit");
}

std::optional<std::string> Repository::find_ref(const std::string& ref) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  return context_->resolve(ref);
}

bool Repository::has_commit(const std::string& commit) {
  return run(context_->sandboxed({"cat-file", "-e", commit + "^{commit}"})).code == 0;
}

bool Repository::set_ref(const std::string& ref, const std::string& commit,
                         const std::optional<std::string>& expected) {
  REEVE_ASSERT(ref.starts_with("refs/"));
  // An empty old value means that the ref must not exist.
  const Call call =
      context_->in_repository({"update-ref", "--no-deref", "-m", "reeve", ref, commit, expected.value_or("")});
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
  const Call call = context_->in_repository({"update-ref", "--no-deref", "-d", ref, expected});
  const Outcome outcome = run(call);
  if (outcome.code == 0) return true;
  const auto now = find_ref(ref);
  if (now != expected) return !now;
  fail(call, outcome);
}

}  // namespace reeve::git
