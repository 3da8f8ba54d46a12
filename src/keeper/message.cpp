#include "keeper/message.h"

#include "keeper/packing.h"

namespace reeve::keeper {

namespace {

// One function per message for both ways, so that they cannot differ.
template <class Io>
void pass(Io& io, bool& flag) {
  auto byte = static_cast<std::uint8_t>(flag ? 1 : 0);
  io(byte);
  flag = byte != 0;
}

template <class Io>
void fields(Io& io, Assign& m) {
  io(m.run_folder);
  io(m.attempt_folder);
  io(m.nonce);
  io(m.mode);
  io(m.rows);
  io(m.columns);
  io(m.kill_grace_ms);
  pass(io, m.keep_descendants);
  io(m.output_cap);
  io(m.deadline_ns);
  io(m.lease_ns);
  io(m.environment);
  io(m.words);
  io(m.wrapper);
  io(m.open_files);
  io(m.cgroup_parent);
}
template <class Io>
void fields(Io& /*io*/, Go& /*m*/) {}
template <class Io>
void fields(Io& io, Consumed& m) {
  io(m.position);
}
template <class Io>
void fields(Io& io, Input& m) {
  io(m.ticket);
  io(m.bytes);
}
template <class Io>
void fields(Io& /*io*/, CloseInput& /*m*/) {}
template <class Io>
void fields(Io& io, Resize& m) {
  io(m.rows);
  io(m.columns);
}
template <class Io>
void fields(Io& io, Signal& m) {
  io(m.number);
}
template <class Io>
void fields(Io& io, Stop& m) {
  io(m.grace_ms);
}
template <class Io>
void fields(Io& io, Deadline& m) {
  io(m.boot_ns);
}
template <class Io>
void fields(Io& io, Lease& m) {
  io(m.boot_ns);
}
template <class Io>
void fields(Io& io, Hello& m) {
  io(m.pid);
  io(m.started);
}
template <class Io>
void fields(Io& io, Started& m) {
  io(m.pid);
  io(m.started);
}
template <class Io>
void fields(Io& io, Grew& m) {
  io(m.position);
}
template <class Io>
void fields(Io& io, InputTaken& m) {
  io(m.ticket);
  pass(io, m.is_taken);
}
template <class Io>
void fields(Io& io, Trouble& m) {
  io(m.error_number);
}
template <class Io>
void fields(Io& /*io*/, Exited& /*m*/) {}
template <class Io>
void fields(Io& io, Answer& m) {
  io(m.number);
  io(m.serial);
  io(m.bytes);
}
template <class Io>
void fields(Io& io, Prompt& m) {
  io(m.serial);
  io(m.certainty);
  pass(io, m.is_secret);
  io(m.position);
}
template <class Io>
void fields(Io& io, PromptOver& m) {
  io(m.serial);
}
template <class Io>
void fields(Io& io, AnswerTaken& m) {
  io(m.number);
  pass(io, m.is_taken);
}

template <class Variant>
std::string encode_any(const Variant& message) {
  Packer packer;
  packer.put(static_cast<std::uint8_t>(message.index()));
  std::visit(
      [&](auto copy) {
        auto io = [&](auto& value) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string>) {
            packer.put(std::string_view(value));
          } else {
            packer.put(value);
          }
        };
        fields(io, copy);
      },
      message);
  return std::move(packer.bytes());
}

template <class Variant, std::size_t I = 0>
std::optional<Variant> decode_any(std::size_t kind, std::string_view rest) {
  if constexpr (I < std::variant_size_v<Variant>) {
    if (kind != I) return decode_any<Variant, I + 1>(kind, rest);
    std::variant_alternative_t<I, Variant> message{};
    Unpacker unpacker(rest);
    auto io = [&](auto& value) { unpacker.get(value); };
    fields(io, message);
    return unpacker.is_whole() ? std::optional<Variant>(std::move(message)) : std::nullopt;
  } else {
    return std::nullopt;
  }
}

// A word that no version has said: what it stands for cannot be guessed.
bool is_known(const ToKeeper& message) noexcept {
  const auto* assign = std::get_if<Assign>(&message);
  return assign == nullptr || assign->mode <= Assign::Mode::stream;
}
bool is_known(const FromKeeper& message) noexcept {
  const auto* prompt = std::get_if<Prompt>(&message);
  return prompt == nullptr || prompt->certainty <= Prompt::Certainty::probable;
}

template <class Variant>
std::optional<Variant> decode_known(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  auto message = decode_any<Variant>(static_cast<unsigned char>(bytes.front()), bytes.substr(1));
  if (message && !is_known(*message)) message.reset();
  return message;
}

}  // namespace

std::string encode(const ToKeeper& message) { return encode_any(message); }
std::string encode(const FromKeeper& message) { return encode_any(message); }

std::optional<ToKeeper> decode_to_keeper(std::string_view bytes) { return decode_known<ToKeeper>(bytes); }

std::optional<FromKeeper> decode_from_keeper(std::string_view bytes) { return decode_known<FromKeeper>(bytes); }

std::string seat_name(std::int32_t pid, std::uint64_t started) {
  return std::to_string(pid) + "-" + std::to_string(started);
}

}  // namespace reeve::keeper
