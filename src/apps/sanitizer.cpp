// In sanitizer builds alone (src/CMakeLists.txt): what a sanitizer finds in a client, a daemon, its guard or a keeper
// lies in the folder that REEVE_SANITIZER_REPORTS names. A daemon gets nothing else of the environment of whoever
// started it, and nobody reads what it prints; tests look into the folder after each test (tests/support/reports.h).
#include <cstdlib>
#include <sanitizer/common_interface_defs.h>
#include <string>
#include <thread>
#include <unistd.h>

extern "C" {

// A race is told and the program goes on as it would: what follows from it is not a matter of this test.
const char* __tsan_default_options() {
  return "halt_on_error=0:exitcode=0:second_deadlock_stack=1:handle_abort=1:external_symbolizer_path=" REEVE_SYMBOLIZER;
}

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:handle_abort=1"
         ":external_symbolizer_path=" REEVE_SYMBOLIZER;
}

const char* __ubsan_default_options() {
  return "print_stacktrace=1:halt_on_error=1:external_symbolizer_path=" REEVE_SYMBOLIZER;
}
}

namespace {

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
// For the test of all this.
void race() {
  int shared = 0;
  std::thread other([&] { ++shared; });
  ++shared;
  other.join();
}
#endif
#endif

[[gnu::constructor]] void name_reports() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has begun.
  const char* folder = std::getenv("REEVE_SANITIZER_REPORTS");
  if (folder == nullptr || *folder == '\0') return;
  const std::string path = std::string(folder) + "/" + program_invocation_short_name;
  // The number of the process is put behind it.
  __sanitizer_set_report_path(path.c_str());
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  if (::access((std::string(folder) + "/race").c_str(), F_OK) == 0) race();
#endif
#endif
}

}  // namespace
