#pragma once

#include <string>

#include "git/repository.h"

// Refs that keep commits from being pruned. A process in a worktree can move them, so they decide nothing.
namespace reeve::runtime {

// Throws `git.failed` if another process keeps moving the ref.
void keep_commit(git::Repository& repository, const std::string& ref, const std::string& commit);
void forget_commit(git::Repository& repository, const std::string& ref);

}  // namespace reeve::runtime
