#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

// The tool of approval_bench: asks and exits with 90; when started again, writes the start time of its main to a file.
//   reeve_approval_tool FILE [now]   now: act as if started again
int main(int count, char** words) {
  timespec began{};
  ::clock_gettime(CLOCK_MONOTONIC, &began);
  if (count < 2) return 2;
  const bool goes_on = count > 2 || std::getenv("REEVE_APPROVAL_ID") != nullptr;
  if (!goes_on) {
    const char* question = "{\"event\":\"approval_needed\",\"question\":\"Go on?\"}\n";
    return ::write(STDOUT_FILENO, question, std::strlen(question)) > 0 ? 90 : 1;
  }
  const int file = ::open(words[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  char text[32];
  const int size = std::snprintf(text, sizeof(text), "%lld\n", began.tv_sec * 1'000'000'000LL + began.tv_nsec);
  return file >= 0 && ::write(file, text, static_cast<std::size_t>(size)) == size ? 0 : 1;
}
