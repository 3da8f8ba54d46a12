#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "keeper/message.h"
#include "os/fd.h"

namespace reeve::keeper {

// Reads the stream that a client sends to the tool's standard input from its file, at the tool's speed, while the
// daemon writes it.
class StdinFeed {
 public:
  // Nothing if the file cannot be opened.
  static std::optional<StdinFeed> open(const std::string& run_folder, const StdinGrew& news);

  // An older report changes nothing.
  void grow(const StdinGrew& news) noexcept;
  // Fills `bytes` with the next part of the stream; false if there is none now.
  bool read(std::string& bytes);
  // Everything was read.
  bool is_at_end() const noexcept { return has_ended_ && position_ == written_; }
  // A position to report: set once the last reported one is far behind.
  std::optional<std::uint64_t> take_report() noexcept;
  std::uint64_t position() const noexcept { return position_; }

 private:
  explicit StdinFeed(os::Fd file) : file_(std::move(file)) {}

  os::Fd file_;
  std::uint64_t written_ = 0;
  bool has_ended_ = false;
  std::uint64_t position_ = 0;
  std::uint64_t reported_ = 0;
};

}  // namespace reeve::keeper
