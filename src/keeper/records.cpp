#include "keeper/records.h"

#include "keeper/packing.h"

namespace reeve::keeper {

namespace {

enum class Kind : std::uint32_t { launch = 0x314c5652, exit = 0x31455652, marker = 0x314d5652, input = 0x31495652 };

// FNV-1a: protects against torn files, not against tampering.
std::uint64_t sum_of(std::string_view bytes) noexcept {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return sum;
}

template <class Record>
std::string encode(Kind kind, const Record& record) {
  Packer content;
  content.put(record);
  Packer sealed;
  sealed.put(kind).put(sum_of(content.bytes()));
  sealed.bytes().append(content.bytes());
  return std::move(sealed.bytes());
}

template <class Record>
std::optional<Record> decode(Kind kind, std::string_view bytes) {
  constexpr std::size_t head = sizeof(Kind) + sizeof(std::uint64_t);
  if (bytes.size() < head) return std::nullopt;
  std::underlying_type_t<Kind> found = 0;
  std::uint64_t sum = 0;
  Unpacker(bytes.substr(0, head)).get(found).get(sum);
  if (static_cast<Kind>(found) != kind || sum != sum_of(bytes.substr(head))) return std::nullopt;
  Record record;
  return Unpacker(bytes.substr(head)).get(record).is_whole() ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace

std::string encode_launch(const Launch& launch) { return encode(Kind::launch, launch); }
std::string encode_exit(const ExitRecord& record) { return encode(Kind::exit, record); }
std::string encode_marker(const ExecMarker& marker) { return encode(Kind::marker, marker); }

std::string encode_stdin_head(const StdinHead& head) {
  std::string bytes = encode(Kind::input, head);
  bytes.resize(stdin_head_bytes);
  return bytes;
}

std::optional<StdinHead> decode_stdin_head(std::string_view bytes) {
  static const std::size_t length = encode(Kind::input, StdinHead()).size();
  return decode<StdinHead>(Kind::input, bytes.substr(0, length));
}

std::optional<Launch> decode_launch(std::string_view bytes) { return decode<Launch>(Kind::launch, bytes); }
std::optional<ExitRecord> decode_exit(std::string_view bytes) { return decode<ExitRecord>(Kind::exit, bytes); }
std::optional<ExecMarker> decode_marker(std::string_view bytes) { return decode<ExecMarker>(Kind::marker, bytes); }

}  // namespace reeve::keeper
