#include "git/linked.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/beneath.h"
#include "os/file.h"

namespace reeve::git {

namespace {

using base::ErrorCode;

namespace fs = std::filesystem;

constexpr std::size_t longest_line = 8 * base::limits::kib;

bool belongs_to(const fs::path& own, const fs::path& folder) {
  const auto link = os::find_file(own / "gitdir", longest_line);
  return link && base::trim(*link) == (folder / ".git").string();
}

// A folder may be opened without read permission: then chmod works only through /proc.
void make_writable(const os::Folder& folder) { ::chmod(fmt::format("/proc/self/fd/{}", folder.fd()).c_str(), 0700); }

std::string host_name() {
  utsname names = {};
  return ::uname(&names) == 0 ? names.nodename : "";
}

}  // namespace

// Works beneath the folder by descriptors, because a process may still swap in a symlink.
void make_writable(const fs::path& folder) {
  const os::Folder top = os::Folder::open(folder.string());
  make_writable(top);
  std::error_code error;
  std::vector<fs::path> open = {fs::path()};
  while (!open.empty()) {
    const fs::path at = open.back();
    open.pop_back();
    for (const auto& entry : fs::directory_iterator(folder / at, error)) {
      if (!fs::is_directory(entry.symlink_status(error))) continue;
      const fs::path name = at / entry.path().filename();
      if (const auto opened = top.open_folder(name.string())) make_writable(*opened);
      open.push_back(name);
    }
  }
}

std::string describe_owner(const GitContext& context) {
  return fmt::format("{}\n{}\n", host_name(), context.folder().parent_path().string());
}

bool is_owner_gone(const fs::path& own) {
  const std::string text = os::find_file(own / owner_marker, longest_line).value_or("");
  const auto lines = base::split(text, '\n');
  if (lines.size() < 2 || lines[0].empty() || lines[0] != host_name() || !lines[1].starts_with('/')) return false;
  std::error_code error;
  return fs::symlink_status(fs::path(lines[1]), error).type() == fs::file_type::not_found;
}

void check_parent(const fs::path& folder) {
  const fs::path parent = folder.parent_path();
  std::error_code error;
  const fs::path real = fs::canonical(parent, error);
  if (!error && fs::is_directory(real, error) && real == parent.lexically_normal()) return;
  throw base::Error(ErrorCode::git_unsafe_folder,
                    fmt::format("`{}` is a symlink or not a folder", base::visible(parent.string())),
                    "remove it; Reeve creates a folder there");
}

void check_folder(const fs::path& folder) {
  check_parent(folder);
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(folder, error))) return;
  throw base::Error(ErrorCode::git_unsafe_folder,
                    fmt::format("`{}` is no longer a folder", base::visible(folder.string())));
}

std::optional<fs::path> find_own_part(const Place& place, const fs::path& folder) {
  // The expected name first, so that an entry with a false path cannot take precedence.
  const fs::path likely = place.common / "worktrees" / folder.filename();
  if (belongs_to(likely, folder)) return likely;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(place.common / "worktrees", error)) {
    if (belongs_to(entry.path(), folder)) return entry.path();
  }
  return std::nullopt;
}

fs::path get_own_part(const Place& place, const fs::path& folder) {
  if (auto found = find_own_part(place, folder)) return std::move(*found);
  throw base::Error(ErrorCode::git_failed,
                    fmt::format("the repository has no worktree `{}`", base::visible(folder.string())));
}

bool refers_back(const fs::path& folder, const fs::path& own) {
  constexpr std::string_view key = "gitdir:";
  const fs::path file = folder / ".git";
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return false;
  const auto text = os::find_file(file, longest_line);
  if (!text || !text->starts_with(key)) return false;
  // A relative path begins at the worktree.
  const fs::path named = folder / fs::path(base::trim(std::string_view(*text).substr(key.size())));
  return fs::equivalent(named, own, error);
}

bool remove_tree(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) return true;
  if (fs::is_directory(fs::symlink_status(folder, error))) make_writable(folder);
  fs::remove_all(folder, error);
  return !error;
}

namespace {

struct OpenIndex {
  os::Fd file;
  struct stat status = {};
};

// By descriptor: a process that can write in the git folder can put anything there.
OpenIndex open_index(const fs::path& from, std::uint64_t max_bytes) {
  const auto refuse = [&](std::string_view why) {
    throw base::Error(ErrorCode::git_failed, fmt::format("`{}` {}", base::visible(from.string()), why),
                      "`git status` in the checkout shows whether git can use it");
  };
  OpenIndex index{.file = os::Fd(::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC))};
  if (!index.file && errno == ELOOP) refuse("is a symlink");
  if (!index.file || ::fstat(index.file.get(), &index.status) != 0) {
    base::throw_errno(ErrorCode::os_failed, fmt::format("cannot read `{}`", from.string()), errno);
  }
  if (!S_ISREG(index.status.st_mode)) refuse("is not a regular file");
  if (static_cast<std::uint64_t>(index.status.st_size) > max_bytes) {
    refuse(fmt::format("is larger than {} MiB", max_bytes / base::limits::mib));
  }
  return index;
}

// A file that grows meanwhile is copied as far as it was when it was opened. False with errno set.
bool copy_bytes(const OpenIndex& from, int to, const std::function<bool()>& gives_up) {
  constexpr std::size_t part = 4 * base::limits::mib;
  auto left = static_cast<std::size_t>(from.status.st_size);
  while (left > 0) {
    if (gives_up && gives_up()) throw base::Error(ErrorCode::git_timeout, "the call was stopped");
    const ssize_t count = ::sendfile(to, from.file.get(), nullptr, std::min(left, part));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) return true;
    left -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

void copy_index(const fs::path& from, const fs::path& to, const IndexCopyLimits& terms) {
  const OpenIndex source = open_index(from, terms.max_bytes);
  const fs::path unfinished = to.string() + ".reeve";
  ::unlink(unfinished.c_str());
  constexpr mode_t permissions = 0777;
  const os::Fd copy(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const timespec times[2] = {source.status.st_mtim, source.status.st_mtim};
  const bool is_copied = copy && copy_bytes(source, copy.get(), terms.gives_up) &&
                         ::fchmod(copy.get(), source.status.st_mode & permissions) == 0 &&
                         ::futimens(copy.get(), times) == 0 && ::rename(unfinished.c_str(), to.c_str()) == 0;
  if (!is_copied) base::throw_errno(ErrorCode::os_failed, fmt::format("cannot write `{}`", to.string()), errno);
}

void check_out(const GitContext& context, const fs::path& folder, const fs::path& own, const std::string& commit) {
  const std::string name = own.filename().string();
  const fs::path index = context.make_index_name(name);
  std::error_code error;
  // Without Reeve's index, all files are written again.
  if (fs::exists(context.index_of(name), error)) copy_index(context.index_of(name), index);
  Call call = context.sandboxed_in(folder, index, {"read-tree", "--reset", "-u", commit});
  call.limit = std::chrono::minutes(10);
  demand(call);
  copy_index(index, own / "index");
  // The process that held the lock is gone.
  fs::remove(own / "index.lock", error);
  fs::rename(index, context.index_of(name), error);
  if (error) base::throw_errno(ErrorCode::os_failed, "cannot store the index of a worktree", error.value());
}

}  // namespace reeve::git
