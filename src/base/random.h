#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace reeve::base {

// Randomness is a parameter, like time: tests pass a seeded source and can reproduce a failure.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> bytes) = 0;

  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
};

// The kernel's random numbers, suitable for nonces and tokens.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> bytes) override;
};

// Reproducible from its seed; never for secrets.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : state_(seed) {}
  void fill(std::span<std::byte> bytes) override;

 private:
  std::uint64_t state_;
};

// That many of the kernel's random bytes in lower-case hexadecimal, two digits each.
std::string random_hex(std::size_t bytes);

}  // namespace reeve::base
