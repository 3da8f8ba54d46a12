#include "base/sha256_stream.h"

#include <array>

#include <sodium.h>

namespace reeve::base {

struct Sha256Stream::State {
  crypto_hash_sha256_state value{};
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) { crypto_hash_sha256_init(&state_->value); }

Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::add(std::string_view bytes) {
  crypto_hash_sha256_update(&state_->value, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string Sha256Stream::finish() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state_->value, digest.data());
  std::string hex(2 * digest.size() + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  hex.pop_back();
  return hex;
}

}  // namespace reeve::base
