#include "runtime/metrics/state_watch.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> find_inode(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_ino;
}

bool is_deleted(const os::Fd& file) {
  struct stat status{};
  return ::fstat(file.get(), &status) == 0 && status.st_nlink == 0;
}

// The file's present path according to the kernel; empty if it is unlinked.
fs::path find_path(const os::Fd& file) {
  std::error_code error;
  const fs::path found = fs::read_symlink(fmt::format("/proc/self/fd/{}", file.get()), error);
  return error || found.string().ends_with(" (deleted)") ? fs::path() : found;
}

}  // namespace

StateWatch::StateWatch(Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      root_(::open(options_.root.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
  root_inode_ = find_inode(options_.root).value_or(0);
  events_.add_contents(options_.root);
  events_.add_ancestors(options_.root);
  if (options_.database) {
    const fs::path& database = *options_.database;
    database_ = os::Fd(::open(database.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    for (const char* ending : {"", "-wal", "-shm"}) {
      const fs::path path = database.string() + ending;
      if (const auto inode = find_inode(path)) files_.push_back({path, *inode});
    }
    if (database.parent_path() != options_.root) events_.add_contents(database.parent_path());
  }
  watch_ = loop_.watch(events_.fd(), [this] { on_event(); });
  look_again();
}

StateFinding StateWatch::look() const {
  if (find_inode(options_.root) != root_inode_) {
    const fs::path now_at = find_path(root_);
    if (is_deleted(root_) || now_at.empty()) return {StateFinding::Kind::gone, "the state folder was removed"};
    return {StateFinding::Kind::moved, fmt::format("the state folder was moved to {}", base::quoted(now_at.string())),
            now_at};
  }
  StateFinding finding;
  for (const File& file : files_) {
    const auto inode = find_inode(file.path);
    if (inode == file.inode) continue;
    finding.kind = StateFinding::Kind::files_missing;
    finding.what += fmt::format("{}{} was {}", finding.what.empty() ? "" : ", ", file.path.filename().string(),
                                inode ? "replaced" : "removed");
    if (file.path != options_.database || !database_) continue;
    finding.is_database_deleted = is_deleted(database_);
    finding.now_at = finding.is_database_deleted ? fs::path() : find_path(database_);
  }
  return finding;
}

const StateFinding& StateWatch::check() {
  StateFinding found = look();
  if (found == last_) return last_;
  last_ = std::move(found);
  options_.changed(last_);
  return last_;
}

void StateWatch::on_event() {
  events_.drain();
  check();
  settling_ = loop_.at(loop_.now() + options_.settle_time, [this] { options_.settled(check()); });
}

void StateWatch::look_again() {
  timer_ = loop_.at(loop_.now() + options_.interval, [this] {
    const StateFinding before = last_;
    if (check() != before) on_event();
    look_again();
  });
}

}  // namespace reeve::runtime
