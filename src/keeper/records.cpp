#include "keeper/records.h"

#include "keeper/packing.h"

namespace reeve::keeper {

namespace {

enum class Kind : std::uint32_t { launch = 0x314c5652, exit = 0x31455652, marker = 0x314d5652 };

// FNV-1a: guards against torn files, not against people.
std::uint64_t sum_of(std::string_view bytes) noexcept {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return sum;
}

std::string seal(Kind kind, Packer& content) {
  Packer sealed;
  sealed.put(kind).put(sum_of(content.bytes()));
  sealed.bytes().append(content.bytes());
  return std::move(sealed.bytes());
}

std::optional<Unpacker> open(Kind kind, std::string_view bytes) {
  constexpr std::size_t head = sizeof(Kind) + sizeof(std::uint64_t);
  if (bytes.size() < head) return std::nullopt;
  Kind found{};
  std::uint64_t sum = 0;
  Unpacker(bytes.substr(0, head)).get(found).get(sum);
  if (found != kind || sum != sum_of(bytes.substr(head))) return std::nullopt;
  return Unpacker(bytes.substr(head));
}

void put_optional(Packer& packer, const std::optional<std::int32_t>& value) {
  packer.put(static_cast<std::uint8_t>(value ? 1 : 0)).put(value.value_or(0));
}

std::optional<std::int32_t> get_optional(Unpacker& unpacker) {
  std::uint8_t is_there = 0;
  std::int32_t value = 0;
  unpacker.get(is_there).get(value);
  return is_there != 0 ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string encode_launch(const Launch& launch) {
  Packer packer;
  packer.put(launch.argv).put(launch.environment).put(std::string_view(launch.folder));
  packer.put(static_cast<std::uint8_t>(launch.has_prompt ? 1 : 0)).put(std::string_view(launch.settings));
  return seal(Kind::launch, packer);
}

std::optional<Launch> decode_launch(std::string_view bytes) {
  auto unpacker = open(Kind::launch, bytes);
  if (!unpacker) return std::nullopt;
  Launch launch;
  std::uint8_t has_prompt = 0;
  unpacker->get(launch.argv).get(launch.environment).get(launch.folder).get(has_prompt).get(launch.settings);
  launch.has_prompt = has_prompt != 0;
  return unpacker->is_whole() ? std::optional(std::move(launch)) : std::nullopt;
}

std::string encode_exit(const ExitRecord& record) {
  Packer packer;
  packer.put(std::string_view(record.nonce));
  put_optional(packer, record.code);
  put_optional(packer, record.signal);
  put_optional(packer, record.exec_errno);
  packer.put(record.exec_stage).put(record.ended_by).put(record.unix_ns);
  packer.put(record.output_begin).put(record.output_end);
  packer.put(record.descendants).put(static_cast<std::uint8_t>(record.is_tree_gone ? 1 : 0));
  return seal(Kind::exit, packer);
}

std::optional<ExitRecord> decode_exit(std::string_view bytes) {
  auto unpacker = open(Kind::exit, bytes);
  if (!unpacker) return std::nullopt;
  ExitRecord record;
  unpacker->get(record.nonce);
  record.code = get_optional(*unpacker);
  record.signal = get_optional(*unpacker);
  record.exec_errno = get_optional(*unpacker);
  std::uint8_t is_tree_gone = 0;
  unpacker->get(record.exec_stage).get(record.ended_by).get(record.unix_ns);
  unpacker->get(record.output_begin).get(record.output_end);
  unpacker->get(record.descendants).get(is_tree_gone);
  record.is_tree_gone = is_tree_gone != 0;
  return unpacker->is_whole() && record.ended_by <= EndedBy::signal ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode_marker(const ExecMarker& marker) {
  Packer packer;
  packer.put(std::string_view(marker.nonce)).put(marker.pid).put(marker.started).put(std::string_view(marker.cgroup));
  return seal(Kind::marker, packer);
}

std::optional<ExecMarker> decode_marker(std::string_view bytes) {
  auto unpacker = open(Kind::marker, bytes);
  if (!unpacker) return std::nullopt;
  ExecMarker marker;
  unpacker->get(marker.nonce).get(marker.pid).get(marker.started).get(marker.cgroup);
  return unpacker->is_whole() ? std::optional(std::move(marker)) : std::nullopt;
}

}  // namespace reeve::keeper
