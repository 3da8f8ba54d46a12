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

StateFiles::StateFiles(fs::path root, std::optional<fs::path> database)
    : root_(std::move(root)),
      database_(std::move(database)),
      root_file_(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)),
      root_inode_(find_inode(root_).value_or(0)) {
  if (!database_) return;
  database_file_ = os::Fd(::open(database_->c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  for (const char* ending : {"", "-wal", "-shm"}) {
    const fs::path path = database_->string() + ending;
    if (const auto inode = find_inode(path)) files_.push_back({path, *inode});
  }
}

StateFinding StateFiles::look() const {
  if (find_inode(root_) != root_inode_) {
    const fs::path now_at = find_path(root_file_);
    if (is_deleted(root_file_) || now_at.empty()) return {StateFinding::Kind::gone, "the state folder was removed"};
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
    if (file.path != database_ || !database_file_) continue;
    finding.is_database_deleted = is_deleted(database_file_);
    finding.now_at = finding.is_database_deleted ? fs::path() : find_path(database_file_);
  }
  return finding;
}

StateWatch::StateWatch(Loop& loop, Options options)
    : loop_(loop),
      options_(std::move(options)),
      files_(std::make_shared<const StateFiles>(options_.root, options_.database)) {
  events_.add_contents(options_.root);
  events_.add_ancestors(options_.root);
  if (options_.database && options_.database->parent_path() != options_.root) {
    events_.add_contents(options_.database->parent_path());
  }
  watch_ = loop_.watch(events_.fd(), [this] { on_event(); });
}

const StateFinding& StateWatch::check() {
  StateFinding found = files_->look();
  if (found == last_) return last_;
  last_ = std::move(found);
  await_silence();
  options_.changed(last_);
  return last_;
}

std::function<bool()> StateWatch::make_poll() const {
  return [files = files_, last = StateFinding()]() mutable {
    StateFinding found = files->look();
    if (found == last) return false;
    last = std::move(found);
    return true;
  };
}

void StateWatch::on_event() {
  events_.drain();
  check();
  await_silence();
}

void StateWatch::await_silence() {
  settling_ = loop_.at(loop_.now() + options_.settle_time, [this] { options_.settled(check()); });
}

}  // namespace reeve::runtime
