#pragma once

#include <optional>
#include <string>

#include "os/fd.h"

// Locks that belong to an open file, so that they end with the process that holds it, however it ends.
namespace reeve::os {

class FileLock {
 public:
  // Creates the file (0600) and takes the lock; nothing when another has it. Throws `os.failed` when the file cannot be
  // made.
  static std::optional<FileLock> try_take(const std::string& path);

  enum class State { held, free };
  // Looks without taking it: whoever looks never gets in the way of the one who needs it. A file that is not there is
  // free.
  static State query(const std::string& path);

  const Fd& file() const noexcept { return file_; }

 private:
  explicit FileLock(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

}  // namespace reeve::os
