#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reeve::base {

// Chance is a parameter, as time is: tests give a seeded one and can repeat what they saw.
class Random {
 public:
  virtual ~Random() = default;
  virtual void fill(std::span<std::byte> bytes) = 0;

  // Evenly from [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
};

// The kernel's, fit for nonces and tokens.
class SystemRandom final : public Random {
 public:
  void fill(std::span<std::byte> bytes) override;
};

// Repeatable from its seed; never for secrets.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) noexcept : state_(seed) {}
  void fill(std::span<std::byte> bytes) override;

 private:
  std::uint64_t state_;
};

}  // namespace reeve::base
