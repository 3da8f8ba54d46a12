#include "keeper/alarm.h"

#include <algorithm>
#include <cerrno>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/error.h"

namespace reeve::keeper {

Alarm::Alarm() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!timer_) base::throw_errno(base::ErrorCode::os_failed, "cannot wait for events", errno);
}

void Alarm::set(std::int64_t at) noexcept {
  if (at == at_) return;
  at_ = at;
  itimerspec when{};
  if (at != never) {
    const std::int64_t moment = std::max<std::int64_t>(at, 1);
    when.it_value = {moment / 1'000'000'000LL, moment % 1'000'000'000LL};
  }
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Alarm::hear() noexcept {
  std::uint64_t expirations = 0;
  if (::read(timer_.get(), &expirations, sizeof(expirations)) > 0) at_ = never;
}

}  // namespace reeve::keeper
