#pragma once

// Points at which a test can make the program die as if by kill -9 (DESIGN §4). Compiled in only with
// REEVE_CRASH_POINTS, which no release build has.
namespace reeve::keeper {

#ifdef REEVE_CRASH_POINTS
// Sets the crash point of this process; nullptr for none.
void set_crash_point(const char* name) noexcept;
void crash_point(const char* name) noexcept;
#else
inline void set_crash_point(const char* /*name*/) noexcept {}
inline void crash_point(const char* /*name*/) noexcept {}
#endif

}  // namespace reeve::keeper
