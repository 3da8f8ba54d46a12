#include "os/inotify.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <sys/inotify.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace reeve::os {

WriteWatch::WriteWatch(const std::filesystem::path& file) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  const bool watches = fd_ && ::inotify_add_watch(fd_.get(), file.c_str(), IN_MODIFY) >= 0;
  if (!watches) {
    base::throw_errno("os.no_watch", fmt::format("cannot watch {}", base::quoted(file.string())), errno,
                      "raise fs.inotify.max_user_watches or max_user_instances");
  }
}

bool WriteWatch::drain() {
  alignas(inotify_event) std::array<std::byte, 4096> buffer;
  bool any = false;
  while (::read(fd_.get(), buffer.data(), buffer.size()) > 0) any = true;
  return any;
}

}  // namespace reeve::os
