#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/redaction.h"
#include "keeper/output_reader.h"
#include "os/beneath.h"
#include "server/resources/attempt_lines.h"

// The stored output of an attempt as frames, byte for byte or with its secrets masked.
namespace reeve::server {

class AttemptFrames {
 public:
  // Without secrets to mask, the frames are passed on as they are stored. Throws if the attempt has no output.
  AttemptFrames(runtime::Daemon& daemon, const AttemptLines::Start& start,
                std::shared_ptr<const base::SecretSet> masked_secrets);
  AttemptFrames(const AttemptFrames&) = delete;
  AttemptFrames& operator=(const AttemptFrames&) = delete;

  // Reads the next frame; false at the current end.
  bool read();
  // There is no more: adds the bytes that were held back.
  void finish();
  std::size_t pending() const noexcept { return piece_.size(); }
  std::string take() { return std::exchange(piece_, {}); }
  // Of the next frame.
  std::uint64_t position() const noexcept { return reader_.position(); }

 private:
  void add_masked(std::size_t stream, std::string_view bytes);
  void add_mark(std::size_t stream);
  void add_frame(const keeper::FrameHeader& header, std::string_view bytes);
  void add_bytes(std::size_t stream, std::string_view bytes, std::uint8_t flags = 0);

  os::Folder folder_;
  keeper::OutputReader reader_;
  std::shared_ptr<const base::SecretSet> secrets_;
  std::array<base::Redactor, 2> redactors_;
  OutputPosition fed_;
  std::string piece_;
};

}  // namespace reeve::server
