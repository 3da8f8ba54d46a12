#include "base/random.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <sodium.h>

#include "base/error.h"

namespace reeve::base {

std::uint64_t Random::below(std::uint64_t bound) {
  REEVE_ASSERT(bound > 0);
  // Draws from the incomplete last block are discarded, so that all results are equally likely.
  const std::uint64_t incomplete = (UINT64_MAX % bound + 1) % bound;
  while (true) {
    std::uint64_t drawn = 0;
    fill(std::as_writable_bytes(std::span(&drawn, 1)));
    if (drawn <= UINT64_MAX - incomplete) return drawn % bound;
  }
}

void SystemRandom::fill(std::span<std::byte> bytes) {
  // Thread-safe; after the first call, it does nothing.
  if (sodium_init() < 0) throw Error(ErrorCode::os_no_random, "cannot read random bytes from the kernel");
  if (!bytes.empty()) randombytes_buf(bytes.data(), bytes.size());
}

void SeededRandom::fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    // SplitMix64 (Steele, Lea, Flood 2014): passes BigCrush and needs one word of state.
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30U)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
    word ^= word >> 31U;
    const std::size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(bytes.data(), &word, count);
    bytes = bytes.subspan(count);
  }
}

std::string random_hex(std::size_t bytes) {
  std::vector<unsigned char> drawn(bytes);
  SystemRandom().fill(std::as_writable_bytes(std::span(drawn)));
  std::string hex(2 * bytes + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), drawn.data(), drawn.size());
  hex.pop_back();
  return hex;
}

}  // namespace reeve::base
