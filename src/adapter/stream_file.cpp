#include "adapter/stream_file.h"

#include <fcntl.h>

#include "os/beneath.h"
#include "os/write.h"

namespace reeve::adapter {

StreamFile::StreamFile(const std::string& folder) {
  // Not one that somebody has put there.
  auto file = os::Folder::open(folder).open_file(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0600);
  if (file) file_ = std::move(*file);
}

bool StreamFile::add(std::string_view line) {
  if (!file_) return false;
  const bool fits = written_ + line.size() + 1 <= max_bytes;
  const bool is_written = fits && os::write_all(file_.get(), line) && os::write_all(file_.get(), "\n");
  written_ += line.size() + 1;
  if (!is_written) {
    static_cast<void>(os::write_all(file_.get(), "{\"reeve\":\"the rest was dropped\"}\n"));
    file_ = os::Fd();
  }
  return !is_written;
}

}  // namespace reeve::adapter
