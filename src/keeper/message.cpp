#include "keeper/message.h"

#include "keeper/packing.h"

namespace reeve::keeper {

namespace {

template <class Variant>
std::string encode_any(const Variant& message) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& alternative) { packer.put(alternative); }, message);
  return std::move(packer.bytes());
}

template <class Variant, std::size_t I = 0>
std::optional<Variant> decode_any(std::size_t kind, std::string_view rest) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (kind != I) return decode_any<Variant, I + 1>(kind, rest);
    std::variant_alternative_t<I, Variant> message{};
    return Unpacker(rest).get(message).is_whole() ? std::optional<Variant>(std::move(message)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

template <class Variant>
std::optional<Variant> decode_any(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  return decode_any<Variant>(static_cast<unsigned char>(bytes.front()), bytes.substr(1));
}

}  // namespace

std::string encode(const ToKeeper& message) { return encode_any(message); }
std::string encode(const FromKeeper& message) { return encode_any(message); }

std::optional<ToKeeper> decode_to_keeper(std::string_view bytes) { return decode_any<ToKeeper>(bytes); }

std::optional<FromKeeper> decode_from_keeper(std::string_view bytes) { return decode_any<FromKeeper>(bytes); }

std::string endpoint_name(std::int32_t pid, std::uint64_t started) {
  return std::to_string(pid) + "-" + std::to_string(started);
}

}  // namespace reeve::keeper
