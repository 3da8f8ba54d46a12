#include "keeper/confine.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "os/spawn.h"

namespace reeve::keeper {

namespace {

constexpr std::string_view entered = "entered\n";
constexpr std::string_view failed = "failed ";
constexpr int cannot_start = 126;

// Signals that users and Reeve send; the others are caused by faults of the process itself.
constexpr std::array<int, 9> soft_signals = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                             SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU};

void say(std::string_view text) noexcept {
  if (::write(sandbox_fd, text.data(), text.size()) < 0) return;
}

int parse_number(std::string_view& text) {
  int number = 0;
  const auto [end, _] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

}  // namespace

int confine(const char* status_file, char** command) {
  const int file = ::open(status_file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0 || ::dup2(file, sandbox_fd) < 0) {
    std::fprintf(stderr, "reeve-keeper: cannot write %s: %s\n", status_file, std::strerror(errno));
    return cannot_start;
  }
  if (file != sandbox_fd) ::close(file);
  for (const int number : soft_signals) ::signal(number, SIG_IGN);
  ::execv(command[0], command);
  std::fprintf(stderr, "%s: %s\n", command[0], std::strerror(errno));
  return cannot_start;
}

int enter_sandbox(char** command) {
  for (const int number : soft_signals) ::signal(number, SIG_DFL);
  say(entered);
  if (command[0] == nullptr) return EXIT_SUCCESS;
  // Close-on-exec, so that the tool cannot write the status file.
  ::fcntl(sandbox_fd, F_SETFD, FD_CLOEXEC);
  const os::SpawnFailure failure = os::become_program(command, environ);
  say(std::string(failed) + std::to_string(failure.error_number) + " " +
      std::to_string(static_cast<int>(failure.stage)) + "\n");
  return cannot_start;
}

std::optional<SandboxEntry> parse_sandbox_entry(std::string_view text) {
  if (!text.starts_with(entered)) return std::nullopt;
  text.remove_prefix(entered.size());
  SandboxEntry entry;
  if (!text.starts_with(failed)) return entry;
  text.remove_prefix(failed.size());
  entry.error_number = parse_number(text);
  entry.stage = parse_number(text);
  return entry;
}

}  // namespace reeve::keeper
