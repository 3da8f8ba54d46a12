// Only in sanitizer builds (src/CMakeLists.txt): sanitizer reports of clients, daemons, guards and keepers are written
// into the folder named by REEVE_SANITIZER_REPORTS, because the output of a daemon is not read and its environment is
// filtered. Tests check the folder after each test (tests/support/reports.h).
#include <cstdlib>
#include <sanitizer/common_interface_defs.h>
#include <string>
#include <thread>
#include <unistd.h>

extern "C" {

// A race is reported and the program continues.
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
// Used to test the reports themselves.
void race() {
  int shared = 0;
  std::thread other([&] { ++shared; });
  ++shared;
  other.join();
}
#endif
#endif

[[gnu::constructor]] void name_reports() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread is running yet.
  const char* folder = std::getenv("REEVE_SANITIZER_REPORTS");
  if (folder == nullptr || *folder == '\0') return;
  const std::string path = std::string(folder) + "/" + program_invocation_short_name;
  // The sanitizer appends the pid.
  __sanitizer_set_report_path(path.c_str());
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  if (::access((std::string(folder) + "/race").c_str(), F_OK) == 0) race();
#endif
#endif
}

}  // namespace
