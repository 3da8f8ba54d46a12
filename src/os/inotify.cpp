#include "os/inotify.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/inotify.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::os {

using base::ErrorCode;

WriteWatch::WriteWatch(const std::filesystem::path& file) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  const bool watches = fd_ && ::inotify_add_watch(fd_.get(), file.c_str(), IN_MODIFY) >= 0;
  if (!watches) {
    base::throw_errno(ErrorCode::os_no_watch, fmt::format("cannot watch {}", base::quoted(file.string())), errno,
                      "raise fs.inotify.max_user_watches or max_user_instances");
  }
}

bool WriteWatch::drain() {
  alignas(inotify_event) std::array<std::byte, 4096> buffer;
  bool any = false;
  while (::read(fd_.get(), buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

RemovalWatch::RemovalWatch() : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (!fd_) {
    base::throw_errno(ErrorCode::os_no_watch, "cannot watch the state folder", errno,
                      "raise fs.inotify.max_user_instances");
  }
}

void RemovalWatch::add_contents(const std::filesystem::path& folder) {
  constexpr std::uint32_t events = IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR;
  if (::inotify_add_watch(fd_.get(), folder.c_str(), events) >= 0) return;
  base::throw_errno(ErrorCode::os_no_watch, fmt::format("cannot watch {}", base::quoted(folder.string())), errno,
                    "raise fs.inotify.max_user_watches");
}

void RemovalWatch::add_ancestors(const std::filesystem::path& folder) noexcept {
  for (std::filesystem::path path = folder.parent_path(); path.has_relative_path(); path = path.parent_path()) {
    static_cast<void>(
        ::inotify_add_watch(fd_.get(), path.c_str(), IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR | IN_MASK_ADD));
  }
}

void RemovalWatch::drain() noexcept {
  alignas(inotify_event) std::array<std::byte, 4096> buffer;
  while (::read(fd_.get(), buffer.data(), buffer.size()) > 0) {
  }
}

}  // namespace reeve::os
