#pragma once

#include <optional>
#include <string>

#include "os/fd.h"

// Locks that belong to an open file, so that they are released when the process that has it open ends, however it ends.
namespace reeve::os {

class FileLock {
 public:
  // Creates the file (0600) and takes the lock; nullopt if another process has it. Throws `os.failed` if the file
  // cannot be created.
  static std::optional<FileLock> try_take(const std::string& path);

  enum class State { held, free };
  // Queries the lock without taking it, so that a query never blocks a process that needs it. A missing file counts as
  // free.
  static State query(const std::string& path);

  const Fd& file() const noexcept { return file_; }

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace reeve::os
