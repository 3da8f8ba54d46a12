#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "keeper/frame.h"
#include "os/beneath.h"

namespace reeve::keeper {

// A frame that was read; its bytes are valid until the next call.
struct Frame {
  FrameHeader header;
  // Position of the frame's header.
  std::uint64_t position = 0;
  std::string_view bytes;

  std::uint64_t payload_position() const noexcept { return position + frame_header_bytes; }
  std::uint64_t end() const noexcept { return payload_position() + bytes.size(); }
};

// Reads the output files of an attempt while they are being written, from any position and across files. Incomplete
// frames are not returned.
class OutputReader {
 public:
  // The folder must outlive it.
  explicit OutputReader(const os::Folder& folder) : folder_(&folder) {}

  // Moves to the frame that contains the position, or to the first later frame that still exists, which leaves a gap. A
  // position beyond the end is the end. False if there is no output yet.
  bool seek(std::uint64_t position);
  // The next whole frame; nullopt if there is none yet.
  std::optional<Frame> next();
  // Whether the last read failed because no file could be opened (EMFILE, ENFILE); there may be more frames.
  bool lacks_descriptors() const noexcept { return lacks_descriptors_; }
  // Position of the next frame.
  std::uint64_t position() const noexcept { return position_; }

 private:
  bool open_segment(std::uint64_t start);
  bool fill(std::size_t wanted);
  bool is_dropped() const noexcept;
  void note_failure(int error_number) noexcept;
  std::optional<FrameHeader> peek_header();

  const os::Folder* folder_;
  os::Fd file_;
  bool lacks_descriptors_ = false;
  std::uint64_t segment_ = 0;
  std::uint64_t position_ = 0;
  // Bytes of the file, starting at position_.
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace reeve::keeper
