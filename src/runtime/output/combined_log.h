#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "model/config.h"
#include "os/fd.h"

namespace reeve::runtime {

// The file `logs/combined.log` (LOG-1, LOG-2): whole lines, appended only by this object. combined.log.1 is the newest
// rotated file.
//
// Every function may throw base::Error `log.unwritable`; the object stays usable and the same call can be repeated.
class CombinedLog {
 public:
  // Opens or creates the file, mode 0600. Removes an unterminated last line, which a killed writer left.
  CombinedLog(std::filesystem::path path, const model::LogSettings& settings);

  // `lines` must end with a newline. Appended text is removed from its front, so that after an exception the same call
  // continues with the rest. Rotates between lines, before the file would exceed `rotate_size`; only a single line
  // longer than that can exceed it. If the file was renamed or deleted externally, a new one is started.
  void append(std::string_view& lines);
  void append(std::string_view&& lines) { append(lines); }

  // The last whole lines within that many bytes, including rotated files if the current one is shorter.
  std::string read_tail(std::size_t bytes) const;

 private:
  void open();
  void write(std::string_view lines);
  void drop_torn_line();
  void follow_path();
  void undo_half_write();
  void rotate();
  std::filesystem::path rotated(std::int64_t number) const;
  [[noreturn]] void fail(std::string_view doing, int error) const;

  std::filesystem::path path_;
  model::LogSettings settings_;
  os::Fd file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t size_ = 0;
  // Set when a write failed halfway and could not be undone at once: the size to truncate the file to before the next
  // write.
  std::optional<std::uint64_t> undo_to_;
};

}  // namespace reeve::runtime
