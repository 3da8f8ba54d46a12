#include "base/hash.h"

#include <array>

#include <sodium.h>

namespace reeve::base {

namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

template <std::size_t Size>
std::string hex_of(const std::array<unsigned char, Size>& digest) {
  std::string hex(2 * Size + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), Size);
  hex.pop_back();
  return hex;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), bytes_of(bytes), bytes.size());
  return hex_of(digest);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> digest{};
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, bytes_of(key), key.size());
  crypto_auth_hmacsha256_update(&state, bytes_of(bytes), bytes.size());
  crypto_auth_hmacsha256_final(&state, digest.data());
  return hex_of(digest);
}

}  // namespace reeve::base
