#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <source_location>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "base/error.h"
#include "keeper/confine.h"
#include "keeper/crash_point.h"
#include "keeper/guard.h"
#include "keeper/run_keeper.h"

// The keeper: one small program that keeps a run, guards the daemon, or sets up a sandbox from outside and inside. It
// uses no exceptions: a system failure before anything was started ends it, which its parent sees.
namespace reeve::base {

void throw_errno(ErrorCode /*code*/, std::string_view doing, int error_number, std::string /*fix*/) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread.
  std::fprintf(stderr, "reeve-keeper: %.*s: %s\n", static_cast<int>(doing.size()), doing.data(),
               std::strerror(error_number));
  std::_Exit(EXIT_FAILURE);
}

void assertion_failed(const char* expression, std::source_location where) noexcept {
  std::fprintf(stderr, "reeve-keeper: bug: %s does not hold (%s:%u)\n", expression, where.file_name(), where.line());
  std::abort();
}

}  // namespace reeve::base

int main(int count, char** words) {
  using namespace reeve;
  const std::string_view task = count > 1 ? words[1] : "";
  if (task == "hold" && count >= 3) {
    if (count > 3) keeper::set_crash_point(words[3]);
    // The socket to the daemon is standard input.
    os::Fd daemon(::dup(STDIN_FILENO));
    ::close(STDIN_FILENO);
    return keeper::hold_run(std::move(daemon), words[2]);
  }
  if (task == "guard" && count >= 5 && std::strcmp(words[3], "--") == 0) {
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    return keeper::guard_daemon(words[2], {words + 4, words + count}, environment);
  }
  // The sandbox roles: before bubblewrap, and inside it.
  if (task == "confine" && count >= 5 && std::strcmp(words[3], "--") == 0) return keeper::confine(words[2], words + 4);
  if (task == "enter" && count >= 3 && std::strcmp(words[2], "--") == 0) return keeper::enter_sandbox(words + 3);
  const int folder_end = 2 + keeper::folder_words;
  if (task == "enter" && count > folder_end && std::strcmp(words[folder_end], "--") == 0) {
    if (const auto folder = keeper::parse_folder_words(words + 2)) {
      return keeper::enter_sandbox(words + folder_end + 1, folder);
    }
  }
  std::fprintf(stderr, "reeve-keeper is started by reeve to keep one run or to guard the daemon.\n");
  return 2;
}
