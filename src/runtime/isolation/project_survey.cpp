#include "runtime/isolation/project_survey.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using git::Repository;

namespace {

// ISO-4: their contents are kept under a ref that `git for-each-ref refs/reeve/left` lists.
void remove_orphans(const IsolationContext& context, Repository& repository) {
  context.try_git("cannot remove worktrees left by another Reeve instance", [&] {
    for (const Repository::Worktree& orphan : repository.list_orphans()) {
      if (!orphan.is_own) {
        repository.forget_worktree(orphan.folder);
        continue;
      }
      const std::string name = orphan.folder.filename().string();
      if (orphan.is_there && orphan.is_ready && !orphan.head.empty()) {
        const auto rest = repository.snapshot(orphan.folder, orphan.head, name + ": left by another Reeve");
        if (rest) repository.set_ref(fmt::format("refs/reeve/left/{}-{}", name, rest->substr(0, 12)), *rest, {});
      }
      repository.remove_worktree(orphan.folder);
    }
  });
}

}  // namespace

Isolation::Survey survey_project(IsolationContext& context, const std::string& project) {
  const auto found = Repository::find(project, context.scratch);
  context.repositories.erase(project);
  if (!found) return {};
  Repository& repository = context.open_repository(project);
  if (repository.find_ref("refs/heads/reeve")) {
    throw Error(ErrorCode::git_branch_in_use,
                "the branch `reeve` prevents execution branches such as `reeve/EX-9`: git cannot store both",
                "rename it: git branch -m reeve NAME");
  }
  const fs::path worktrees = repository.root() / worktrees_folder;
  const auto kind = fs::symlink_status(worktrees).type();
  if (kind != fs::file_type::not_found && kind != fs::file_type::directory) {
    throw Error(ErrorCode::git_unsafe_folder,
                fmt::format("{} is a link or a file, not a folder", base::quoted(worktrees.string())),
                "remove it: Reeve creates worktrees there");
  }
  remove_orphans(context, repository);
  Isolation::Survey survey{.base_commit = repository.get_head(), .dirty = {}};
  const Repository::Status status = repository.status();
  survey.dirty = status.dirty;
  survey.dirty.insert(survey.dirty.end(), status.untracked.begin(), status.untracked.end());
  return survey;
}

void check_remote(IsolationContext& context, const std::string& project, const RemoteOptions& options) {
  git::Remote remote = context.open_repository(project).open_remote(
      options.name, {.ssh_agent = options.ssh_agent, .gives_up = context.gives_up});
  remote.find(branch_ref(base::ExecutionId(0)));
}

}  // namespace reeve::runtime
