#pragma once

#include <cstdint>

#include "keeper/clock.h"
#include "os/fd.h"

namespace reeve::keeper {

// A descriptor that becomes readable at a given BOOTTIME.
class Alarm {
 public:
  Alarm();
  int fd() const noexcept { return timer_.get(); }
  void set(std::int64_t at) noexcept;
  // Clears the alarm if it has expired.
  void hear() noexcept;

 private:
  os::Fd timer_;
  std::int64_t at_ = never;
};

}  // namespace reeve::keeper
