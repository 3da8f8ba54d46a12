#include "keeper/frame.h"

#include <charconv>
#include <cstring>
#include <string_view>

namespace reeve::keeper {

namespace {

constexpr std::string_view segment_prefix = "out-";
constexpr std::size_t position_digits = 16;
constexpr std::size_t checksum_at = 6;

// Fletcher's checksum with non-zero start values, so that a hole of zeros is not valid.
std::uint16_t checksum(std::span<const char, frame_header_bytes> bytes) noexcept {
  std::uint32_t low = 0x5a;
  std::uint32_t high = 0xc3;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const bool is_own = i == checksum_at || i == checksum_at + 1;
    low = (low + (is_own ? 0U : static_cast<unsigned char>(bytes[i]))) % 255U;
    high = (high + low) % 255U;
  }
  return static_cast<std::uint16_t>((high << 8U) | low);
}

}  // namespace

void write_header(const FrameHeader& header, std::span<char, frame_header_bytes> out) noexcept {
  const std::uint16_t none = 0;
  std::memcpy(out.data(), &header.length, 4);
  std::memcpy(out.data() + 4, &header.stream, 1);
  std::memcpy(out.data() + 5, &header.flags, 1);
  std::memcpy(out.data() + checksum_at, &none, 2);
  std::memcpy(out.data() + 8, &header.unix_ns, 8);
  const std::uint16_t sum = checksum(out);
  std::memcpy(out.data() + checksum_at, &sum, 2);
}

std::optional<FrameHeader> read_header(std::span<const char, frame_header_bytes> bytes) noexcept {
  FrameHeader header;
  std::uint16_t sum = 0;
  std::memcpy(&header.length, bytes.data(), 4);
  std::memcpy(&header.stream, bytes.data() + 4, 1);
  std::memcpy(&header.flags, bytes.data() + 5, 1);
  std::memcpy(&sum, bytes.data() + checksum_at, 2);
  std::memcpy(&header.unix_ns, bytes.data() + 8, 8);
  if (sum != checksum(bytes) || header.length > frame_bytes || header.length == 0 || header.stream > 1) {
    return std::nullopt;
  }
  return header;
}

std::string segment_name(std::uint64_t position) {
  std::array<char, position_digits> digits{};
  digits.fill('0');
  std::array<char, position_digits> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), position, 16);
  const auto count = static_cast<std::size_t>(end - text.data());
  std::memcpy(digits.data() + position_digits - count, text.data(), count);
  return std::string(segment_prefix).append(digits.data(), digits.size());
}

std::optional<std::uint64_t> segment_position(const char* name) noexcept {
  const std::string_view text(name);
  if (!text.starts_with(segment_prefix) || text.size() != segment_prefix.size() + position_digits) return std::nullopt;
  std::uint64_t position = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + segment_prefix.size(), last, position, 16);
  if (error != std::errc() || end != last) return std::nullopt;
  return position;
}

}  // namespace reeve::keeper
