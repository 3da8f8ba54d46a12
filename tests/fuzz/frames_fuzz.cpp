#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/error.h"
#include "client/frames.h"
#include "keeper/frame.h"
#include "keeper/output_reader.h"
#include "os/beneath.h"

namespace {

using namespace reeve;
using keeper::frame_header_bytes;

// A temporary folder, removed with the process.
const os::Folder& scratch() {
  struct Scratch {
    Scratch() {
      std::string name = (std::filesystem::temp_directory_path() / "reeve-fuzz-XXXXXX").string();
      REEVE_ASSERT(::mkdtemp(name.data()) != nullptr);
      path = name;
    }
    ~Scratch() { std::filesystem::remove_all(path); }
    std::filesystem::path path;
  };
  static const Scratch place;
  static const os::Folder folder = os::Folder::open(place.path.string());
  return folder;
}

std::string frame_of(std::string_view bytes, std::uint8_t stream, std::uint8_t flags) {
  std::array<char, frame_header_bytes> head{};
  keeper::write_header({static_cast<std::uint32_t>(bytes.size()), stream, flags, 17}, head);
  return std::string(head.data(), head.size()).append(bytes);
}

// Instructions: a byte determines what the next bytes are. Frames with a valid checksum alternate with arbitrary bytes,
// as in a file whose end was corrupted by a power failure.
std::string build(std::string_view input) {
  std::string stream;
  while (!input.empty()) {
    const auto word = static_cast<unsigned char>(input.front());
    input.remove_prefix(1);
    const std::string_view part = input.substr(0, word >> 3U);
    input.remove_prefix(part.size());
    const bool is_frame = (word & 1U) != 0 && !part.empty();
    stream += is_frame ? frame_of(part, (word >> 1U) & 1U, (word >> 2U) & 1U) : std::string(part);
  }
  return stream;
}

struct Read {
  std::vector<std::string> frames;
  std::uint64_t end = 0;
  friend bool operator==(const Read&, const Read&) = default;
};

void read_all(keeper::OutputReader& reader, Read& into) {
  while (const auto frame = reader.next()) {
    REEVE_ASSERT(frame->position == into.end && frame->bytes.size() == frame->header.length);
    REEVE_ASSERT(!frame->bytes.empty() && frame->bytes.size() <= keeper::frame_bytes && frame->header.stream <= 1);
    into.frames.emplace_back(frame->bytes);
    into.end = frame->end();
  }
}

// As the daemon reads the file while it grows.
Read read_growing(const std::string& stream, std::size_t piece) {
  const auto file = scratch().open_file(keeper::segment_name(0), O_RDWR | O_CREAT | O_TRUNC);
  REEVE_ASSERT(file.has_value());
  keeper::OutputReader reader(scratch());
  Read read;
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const std::string_view some = std::string_view(stream).substr(at, piece);
    REEVE_ASSERT(::pwrite(file->get(), some.data(), some.size(), static_cast<off_t>(at)) == std::ssize(some));
    read_all(reader, read);
  }
  return read;
}

}  // namespace

// Any bytes as the output file of a run: the readable part yields the same frames however the file grows, from any
// position, and for a client that receives it in pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t max_bytes = 600;
  if (size > max_bytes) return 0;
  const std::string stream = build({reinterpret_cast<const char*>(data), size});
  const Read whole = read_growing(stream, stream.size() + 1);
  REEVE_ASSERT(whole.end <= stream.size());
  REEVE_ASSERT(read_growing(stream, 13) == whole);

  // To the frame that contains a position, or to the end.
  keeper::OutputReader seeker(scratch());
  const std::uint64_t wanted = size > 0 ? data[0] * 16U : 0;
  if (seeker.seek(wanted)) {
    REEVE_ASSERT(seeker.position() <= std::max(wanted, whole.end));
    Read rest{{}, seeker.position()};
    read_all(seeker, rest);
    REEVE_ASSERT(rest.end == whole.end);
    REEVE_ASSERT(rest.frames.size() <= whole.frames.size());
    REEVE_ASSERT(std::ranges::equal(rest.frames, std::span(whole.frames).last(rest.frames.size())));
  }

  client::FrameDecoder decoder(0);
  std::vector<std::string> told;
  for (std::size_t at = 0; at < whole.end; at += 5) {
    decoder.add(std::string_view(stream).substr(at, std::min<std::size_t>(5, whole.end - at)));
    while (const auto frame = decoder.next()) told.emplace_back(frame->bytes);
  }
  REEVE_ASSERT(told == whole.frames && decoder.position() == whole.end);
  // Invalid frames are refused or waited for, within the limit.
  client::FrameDecoder strict(0);
  try {
    strict.add(stream);
    while (strict.next()) {
    }
  } catch (const base::Error& error) {
    REEVE_ASSERT(error.code() == "daemon.bad_answer");
  }
  return 0;
}
