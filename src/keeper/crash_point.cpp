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
  if (chosen != nullptr && std::strcmp(chosen, name) == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace reeve::keeper

#endif
