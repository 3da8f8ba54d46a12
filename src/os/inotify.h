#pragma once

#include <filesystem>

#include "os/fd.h"

namespace reeve::os {

// Tells that a file is being written to.
class WriteWatch {
 public:
  // Throws `os.no_watch` when the file cannot be watched.
  explicit WriteWatch(const std::filesystem::path& file);

  // Readable when something was written.
  int fd() const noexcept { return fd_.get(); }
  // Takes what has been told so far; whether there was anything. Never waits.
  bool drain();

 private:
  Fd fd_;
};

}  // namespace reeve::os
