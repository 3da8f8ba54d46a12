#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

// The tool's output as stored in the run's output files: consecutive frames, `u32 length | u8 stream | u8 flags | u16
// header checksum | i64 unix_ns | bytes`, little endian. A position is a byte offset from the very first frame,
// including files that were dropped since; a file is named after the position of its first byte and contains whole
// frames.
namespace reeve::keeper {

inline constexpr std::size_t frame_header_bytes = 16;
// Maximum size, including the header.
inline constexpr std::size_t frame_bytes = 64UL * 1024;

struct FrameHeader {
  std::uint32_t length = 0;
  // 0 standard output or the terminal, 1 standard error.
  std::uint8_t stream = 0;
  std::uint8_t flags = 0;
  std::int64_t unix_ns = 0;
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

void write_header(const FrameHeader& header, std::span<char, frame_header_bytes> out) noexcept;
// Nullopt if the bytes are not a valid header: readable output ends there.
std::optional<FrameHeader> read_header(std::span<const char, frame_header_bytes> bytes) noexcept;

// "out-00000000000fffe0".
std::string segment_name(std::uint64_t position);
std::optional<std::uint64_t> segment_position(const char* name) noexcept;

}  // namespace reeve::keeper
