#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/random.h"
#include "base/text.h"
#include "os/write.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/confined_folder.h"
#include "runtime/tools/file_tools.h"
#include "runtime/tools/result_text.h"

namespace reeve::runtime {

namespace {

constexpr mode_t default_mode = 0666;
constexpr mode_t kept_bits = 0777;

// Folders whose files run programs or decide what Reeve allows. Some file systems ignore case.
bool is_reserved(std::string_view part) {
  const std::string name = base::to_ascii_lower(part);
  return name == ".git" || name == ".reeve";
}

// A name is safe once its folder is.
bool sync(const os::Folder& folder) {
  const os::Fd fd(::openat(folder.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

// A new file without a name, which disappears by itself if the daemon is killed. Not every file system has them; then
// it has the name `temporary`.
class NewFile {
 public:
  NewFile(const os::Folder& parent, std::string temporary) : parent_(parent), temporary_(std::move(temporary)) {
    file_ = os::Fd(::openat(parent.fd(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, default_mode));
    if (file_) return;
    file_ = os::Fd(
        ::openat(parent.fd(), temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, default_mode));
    is_named_ = static_cast<bool>(file_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (is_named_) ::unlinkat(parent_.fd(), temporary_.c_str(), 0);
  }

  // False with errno set.
  bool fill(std::string_view content, std::optional<mode_t> mode) {
    if (!file_ || !os::write_all(file_.get(), content)) return false;
    if (mode && ::fchmod(file_.get(), *mode) != 0) return false;
    return ::fsync(file_.get()) == 0;
  }
  // Gives it that name, in place of what has it now: a rename never follows a symlink there.
  bool publish(const std::string& name) {
    if (!is_named_) {
      const std::string self = fmt::format("/proc/self/fd/{}", file_.get());
      if (::linkat(AT_FDCWD, self.c_str(), parent_.fd(), temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) return false;
      is_named_ = true;
    }
    if (::renameat(parent_.fd(), temporary_.c_str(), parent_.fd(), name.c_str()) != 0) return false;
    is_named_ = false;
    return true;
  }

 private:
  const os::Folder& parent_;
  std::string temporary_;
  os::Fd file_;
  bool is_named_ = false;
};

// Opens the folders of the path one beneath the other, creating missing ones if asked to.
std::expected<os::Folder, std::string> open_parent(const ConfinedFolder& worktree, std::string_view path,
                                                   bool creates_folders) {
  auto at = worktree.open_folder(".");
  for (std::size_t begin = 0, end = path.find('/'); at && end != std::string_view::npos; end = path.find('/', begin)) {
    const std::string part(path.substr(begin, end - begin));
    begin = end + 1;
    auto next = at->open_folder(part, os::Folder::Mounts::refused);
    if (!next && next.error() == ENOENT && creates_folders && at->make_folder(part, kept_bits)) {
      sync(*at);
      next = at->open_folder(part, os::Folder::Mounts::refused);
    }
    if (!next) {
      const char* advice = next.error() == ENOENT && !creates_folders ? "; set `create_folders`" : "";
      return std::unexpected(fmt::format("cannot open the folder {}: {}{}", shown(path.substr(0, end)),
                                         explain_refusal(next.error()), advice));
    }
    at = std::move(*next);
  }
  return at;
}

wire::CallResult replace(const os::Folder& parent, const std::string& path, const std::string& content) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const auto refuse = [&](const std::string& why) {
    return make_failure(fmt::format("cannot write {}: {}", shown(path), why));
  };
  std::optional<mode_t> mode;
  if (const auto found = parent.open_file(name, O_PATH, 0, os::Folder::Mounts::refused)) {
    struct stat status{};
    if (::fstat(found->get(), &status) != 0) return refuse(explain_refusal(errno));
    if (const std::string fault = find_file_fault(status); !fault.empty()) return refuse(fault);
    mode = status.st_mode & kept_bits;
  } else if (found.error() != ENOENT) {
    return refuse(explain_refusal(found.error()));
  }
  NewFile file(parent, ".reeve-write-" + base::random_hex(8));
  if (!file.fill(content, mode) || !file.publish(name)) return refuse(explain_refusal(errno));
  if (!sync(parent)) return refuse(explain_refusal(errno));
  return {.is_error = false,
          .content = fmt::format("{} {}: {} bytes\n", mode ? "replaced" : "created", shown(path), content.size()),
          .hint = {}};
}

}  // namespace

wire::CallResult write_file_tool(const HostedCall& call) {
  const auto worktree = ConfinedFolder::open(call.worktree);
  if (!worktree) return make_failure(worktree.error());
  const std::string wanted = find_text(call.arguments, "path").value_or("");
  const auto path = worktree->resolve(wanted);
  if (!path) return make_failure(path.error());
  if (*path == "." || wanted.ends_with('/')) return make_failure(fmt::format("{} names a folder", shown(wanted)));
  for (const std::string_view part : base::split(*path, '/')) {
    if (is_reserved(part)) return make_failure(fmt::format("cannot write {}: `{}` is reserved", shown(*path), part));
  }
  const auto parent = open_parent(*worktree, *path, has_flag(call.arguments, "create_folders"));
  if (!parent) return make_failure(parent.error());
  return replace(*parent, *path, find_text(call.arguments, "content").value_or(""));
}

}  // namespace reeve::runtime
