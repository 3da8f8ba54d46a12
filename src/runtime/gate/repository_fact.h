#pragma once

#include <string>

namespace reeve::runtime {

// Whether git, started in `folder`, uses the repository that the worktree `root` belongs to (TOOL-8). Both are
// absolute, without symlinks. git walks up and takes the first folder with a usable `.git`, and, if it has none, a
// folder that is a bare repository itself: one with HEAD, objects and refs, whatever it is called. So there must be no
// `.git` between `folder` and `root`, and nothing on the way, `root` included, that begins like a bare repository.
// A process that may write files there could otherwise choose the settings that git runs programs by (`core.fsmonitor`,
// `diff.*.textconv`).
//
// The first `.git` at or above `root` must be a real folder of a repository, or a file that names one outside of
// `root`.
bool finds_own_repository(const std::string& folder, const std::string& root);

}  // namespace reeve::runtime
