#include "keeper/crash_point.h"

#ifdef REEVE_CRASH_POINTS

#include <csignal>
#include <cstring>
#include <unistd.h>

namespace reeve::keeper {

namespace {
const char* chosen = nullptr;
}

void set_crash_point(const char* name) noexcept { chosen = name; }

void crash_point(const char* name) noexcept {
  constexpr const char* stop = "stop:";
  if (chosen == nullptr) return;
  const bool stops = std::strncmp(chosen, stop, std::strlen(stop)) == 0;
  if (std::strcmp(chosen + (stops ? std::strlen(stop) : 0), name) == 0) ::kill(::getpid(), stops ? SIGSTOP : SIGKILL);
}

}  // namespace reeve::keeper

#endif
