#pragma once

#include <expected>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// A folder and what lies beneath it. Names that lead out of it, by `..`, by a link or by a race with whoever swaps one
// in, are refused by the kernel.
namespace reeve::os {

class Folder {
 public:
  // Whether the last part of the path may be a link.
  enum class Links { refused, followed };
  // Throws `os.failed`.
  static Folder open(const std::string& path, Links links = Links::refused);

  // A file beneath, as open(2) would; the error number when it cannot be opened.
  std::expected<Fd, int> open_file(const std::string& name, int flags, mode_t mode = 0600) const;
  std::expected<Folder, int> open_folder(const std::string& name) const;
  // Whether it is there now, made or found.
  bool make_folder(const std::string& name, mode_t mode = 0700) const;
  // By rename: whoever looks sees the old one or the whole new one.
  bool replace_file(const std::string& name, const std::string& content) const;
  bool remove(const std::string& name) const noexcept;
  // Somebody has deleted it: nothing can be put into it any more.
  bool is_deleted() const noexcept;
  int fd() const noexcept { return fd_.get(); }

 private:
  explicit Folder(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace reeve::os
