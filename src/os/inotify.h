#pragma once

#include <filesystem>

#include "os/fd.h"

namespace reeve::os {

// Reports writes to a file.
class WriteWatch {
 public:
  // Throws `os.no_watch` when the file cannot be watched.
  explicit WriteWatch(const std::filesystem::path& file);

  // Readable when something was written.
  int fd() const noexcept { return fd_.get(); }
  // Consumes pending notifications; returns whether there were any. Never blocks.
  bool drain();

 private:
  Fd fd_;
};

// Reports that something was removed or renamed. The caller must check what: a later check may find more.
class RemovalWatch {
 public:
  // Throws `os.no_watch`.
  RemovalWatch();
  // Watches the names in that folder and the folder itself. Throws `os.no_watch`.
  void add_contents(const std::filesystem::path& folder);
  // Watches the folder and each of its ancestors, as far as possible: moving an ancestor moves everything beneath it.
  void add_ancestors(const std::filesystem::path& folder) noexcept;

  int fd() const noexcept { return fd_.get(); }
  // Consumes pending notifications. Never blocks.
  void drain() noexcept;

 private:
  Fd fd_;
};

}  // namespace reeve::os
