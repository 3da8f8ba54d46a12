#include "os/descent_mark.h"

#include <csignal>
#include <functional>
#include <limits>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace reeve::os {
namespace {

constexpr const char* nonce = "0123456789abcdef0123456789abcdef";

// Runs `act` in a child process, because a mark cannot be removed.
bool holds_in_a_child(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

bool can_raise_limits() {
  return holds_in_a_child([] {
    const rlimit low{.rlim_cur = 1, .rlim_max = 1};
    const rlimit high{.rlim_cur = 2, .rlim_max = 2};
    return ::setrlimit(RLIMIT_LOCKS, &low) == 0 && ::setrlimit(RLIMIT_LOCKS, &high) == 0;
  });
}

TEST(DescentMark, names_its_attempt_and_whether_it_may_stay) {
  const auto mark = make_descent_mark(nonce, MarkKind::ends_with_its_tool);
  const auto staying = make_descent_mark(nonce, MarkKind::may_stay);
  const auto other = make_descent_mark("1123456789abcdef0123456789abcdef", MarkKind::ends_with_its_tool);
  EXPECT_NE(mark, other);
  // A mark can only be lowered, so no process can become one that may stay.
  EXPECT_LT(mark, staying);
  EXPECT_LT(other, staying);
  for (const std::uint64_t one : {mark, staying, other}) EXPECT_TRUE(is_descent_mark(one));
  EXPECT_FALSE(is_descent_mark(1'024));
  EXPECT_FALSE(is_descent_mark(std::numeric_limits<std::uint64_t>::max()));
}

// APR-11: whatever a process does to escape.
TEST(DescentMark, is_inherited_by_all_descendants) {
  const auto mark = make_descent_mark(nonce, MarkKind::ends_with_its_tool);
  EXPECT_EQ(find_lock_limit(::getpid()), std::numeric_limits<std::uint64_t>::max()) << "`ulimit -Hx` is unlimited";
  EXPECT_TRUE(holds_in_a_child([&] {
    set_descent_mark(mark);
    if (find_lock_limit(::getpid()) != mark) return false;
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      ::setsid();
      ::prctl(PR_SET_DUMPABLE, 0);
      const rlimit high{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
      if (!can_raise_limits() && ::setrlimit(RLIMIT_LOCKS, &high) == 0) ::_exit(1);
      if (find_lock_limit(::getpid()) != mark) ::_exit(2);
      // Another program, with an empty environment.
      char name[] = "sh";
      char option[] = "-c";
      char script[] =
          "[ \"$(ulimit -Hx 2>/dev/null || awk '/file locks/ {print $5}' /proc/self/limits)\" != unlimited ]";
      char* const words[] = {name, option, script, nullptr};
      char* const none[] = {nullptr};
      ::execve("/bin/sh", words, none);
      ::_exit(3);
    }
    int status = -1;
    return ::waitpid(grandchild, &status, 0) == grandchild && status == 0;
  }));
}

TEST(DescentMark, lowered_mark_still_counts) {
  EXPECT_TRUE(descends_from_marked(make_descent_mark(nonce, MarkKind::may_stay)));
  EXPECT_TRUE(descends_from_marked(7));
  EXPECT_FALSE(descends_from_marked(std::numeric_limits<std::uint64_t>::max()));
  EXPECT_TRUE(ends_with_its_tool(7));
  EXPECT_TRUE(ends_with_its_tool(make_descent_mark(nonce, MarkKind::ends_with_its_tool)));
  EXPECT_FALSE(ends_with_its_tool(make_descent_mark(nonce, MarkKind::may_stay)));
  // If this process is limited itself, a limit proves nothing.
  EXPECT_TRUE(holds_in_a_child([] {
    const rlimit low{.rlim_cur = 1'024, .rlim_max = 1'024};
    return ::setrlimit(RLIMIT_LOCKS, &low) == 0 && !descends_from_marked(7) && !ends_with_its_tool(7);
  }));
}

TEST(DescentMark, mark_of_an_ended_process_is_unknown) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(find_lock_limit(child));
}

}  // namespace
}  // namespace reeve::os
