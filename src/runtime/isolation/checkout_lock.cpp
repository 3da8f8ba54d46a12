#include "runtime/isolation/checkout_lock.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/file.h"
#include "runtime/isolation/isolation_names.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using git::Repository;

namespace {

constexpr auto lock_timeout = std::chrono::seconds(10);
constexpr auto lock_pause = std::chrono::milliseconds(50);

}  // namespace

os::FileLock lock_checkout(const Repository& repository) {
  const auto folder = repository.root() / worktrees_folder;
  os::create_folders(folder);
  os::create_file(folder / ".gitignore", "*\n");
  const auto until = std::chrono::steady_clock::now() + lock_timeout;
  for (;;) {
    if (auto lock = os::FileLock::try_take((folder / ".lock").string())) return std::move(*lock);
    if (std::chrono::steady_clock::now() > until) {
      throw Error(ErrorCode::git_checkout_busy,
                  fmt::format("another Reeve process is changing {}", base::quoted(repository.root().string())),
                  "try again in a moment");
    }
    std::this_thread::sleep_for(lock_pause);
  }
}

}  // namespace reeve::runtime
