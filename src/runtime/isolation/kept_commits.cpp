#include "runtime/isolation/kept_commits.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::runtime {

void keep_commit(git::Repository& repository, const std::string& ref, const std::string& commit) {
  for (int i = 0; i < 3; ++i) {
    const auto current = repository.find_ref(ref);
    if (current == commit || repository.set_ref(ref, commit, current)) return;
  }
  throw base::Error(base::ErrorCode::git_failed, fmt::format("another process is moving {}", ref),
                    "do not change refs under refs/reeve");
}

void forget_commit(git::Repository& repository, const std::string& ref) {
  const auto current = repository.find_ref(ref);
  if (current) repository.delete_ref(ref, *current);
}

}  // namespace reeve::runtime
