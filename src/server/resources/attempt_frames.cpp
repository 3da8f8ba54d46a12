#include "server/resources/attempt_frames.h"

#include <algorithm>
#include <limits>
#include <span>

namespace reeve::server {

namespace {

const base::SecretSet& set_or_empty(const std::shared_ptr<const base::SecretSet>& secrets) {
  static const base::SecretSet empty;
  return secrets ? *secrets : empty;
}

}  // namespace

AttemptFrames::AttemptFrames(runtime::Daemon& daemon, const AttemptLines::Start& start,
                             std::shared_ptr<const base::SecretSet> masked_secrets)
    : folder_(os::Folder::open(runtime::attempt_folder(daemon.context(), start.run, start.attempt))),
      reader_(folder_),
      secrets_(std::move(masked_secrets)),
      redactors_{base::Redactor(set_or_empty(secrets_)), base::Redactor(set_or_empty(secrets_))},
      fed_(start.from) {
  std::uint64_t from = std::min(start.from[0], start.from[1]);
  if (start.back) {
    reader_.seek(std::numeric_limits<std::uint64_t>::max());
    from = reader_.position() - std::min(*start.back, reader_.position());
  }
  reader_.seek(from);
}

bool AttemptFrames::read() {
  const auto frame = reader_.next();
  if (!frame) return false;
  if (!secrets_) {
    add_frame(frame->header, frame->bytes);
    return true;
  }
  const std::size_t stream = frame->header.stream;
  if (frame->end() <= fed_[stream]) return true;
  const std::uint64_t position = std::max(frame->payload_position(), fed_[stream]);
  fed_[stream] = frame->end();
  add_masked(stream, frame->bytes.substr(position - frame->payload_position()));
  return true;
}

void AttemptFrames::finish() {
  if (!secrets_) return;
  for (const std::size_t stream : {0UL, 1UL}) add_bytes(stream, redactors_[stream].finish());
}

void AttemptFrames::add_masked(std::size_t stream, std::string_view bytes) {
  if (secrets_->empty()) {
    add_bytes(stream, bytes);
    return add_mark(stream);
  }
  add_bytes(stream, redactors_[stream].feed(bytes));
  // Another redactor can continue at the start of a line, because no escape sequence is open there.
  if (bytes.ends_with('\n') && !redactors_[stream].holds_back()) add_mark(stream);
}

void AttemptFrames::add_mark(std::size_t stream) {
  std::string position;
  for (unsigned shift = 0; shift < 64; shift += 8) position += static_cast<char>(fed_[stream] >> shift & 0xffU);
  constexpr std::uint8_t mark_flag = 1;
  add_bytes(stream, position, mark_flag);
}

void AttemptFrames::add_bytes(std::size_t stream, std::string_view bytes, std::uint8_t flags) {
  if (bytes.empty()) return;
  add_frame(
      {.length = static_cast<std::uint32_t>(bytes.size()), .stream = static_cast<std::uint8_t>(stream), .flags = flags},
      bytes);
}

void AttemptFrames::add_frame(const keeper::FrameHeader& header, std::string_view bytes) {
  const std::size_t at = piece_.size();
  piece_.resize(at + keeper::frame_header_bytes);
  keeper::write_header(header,
                       std::span<char, keeper::frame_header_bytes>(piece_.data() + at, keeper::frame_header_bytes));
  piece_.append(bytes);
}

}  // namespace reeve::server
