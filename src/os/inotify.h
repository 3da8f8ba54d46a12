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

// Tells that something was removed or renamed. What it was is for the caller to look up: another look may find more.
class RemovalWatch {
 public:
  // Throws `os.no_watch`.
  RemovalWatch();
  // Names in that folder, and the folder itself. Throws `os.no_watch`.
  void add_contents(const std::filesystem::path& folder);
  // The folder itself and each one above it, as far as they can be watched: with one of them everything beneath moves.
  void add_ancestors(const std::filesystem::path& folder) noexcept;

  int fd() const noexcept { return fd_.get(); }
  // Takes what has been told so far. Never waits.
  void drain() noexcept;

 private:
  Fd fd_;
};

}  // namespace reeve::os
