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

// The file `logs/combined.log` (LOG-1, LOG-2): whole lines, appended by this object alone. combined.log.1 is the
// newest of those that were rotated away.
//
// Every function may throw base::Error `log.unwritable`; the object stays usable and the same call can be made again.
class CombinedLog {
 public:
  // Opens or creates it, mode 0600. A last line without its end, which a killed writer left, is taken away.
  CombinedLog(std::filesystem::path path, const model::LogSettings& settings);

  // `lines` ends with a newline. What was appended is taken off its front, so that after a throw the same call goes on
  // with the rest. Rotates between lines, before the file would become larger than `rotate_size`, which only a line
  // that is larger by itself can make it. A file that somebody has renamed or deleted is left to them and a new one
  // begun.
  void append(std::string_view& lines);
  void append(std::string_view&& lines) { append(lines); }

  // The last whole lines within that many bytes; when the file has fewer, also of those rotated away before it.
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
  // A write failed halfway and could not be undone at once: where the file must end before anything else is written.
  std::optional<std::uint64_t> undo_to_;
};

}  // namespace reeve::runtime
