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

constexpr std::string_view folder_option = "--in";

std::optional<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

// 0, or the error number.
int change_folder(const os::KnownFolder& known) {
  const auto folder = os::open_known(known);
  if (!folder) return folder.error();
  return ::fchdir(folder->fd()) == 0 ? 0 : errno;
}

}  // namespace

std::vector<std::string> make_folder_words(const os::KnownFolder& folder) {
  return {std::string(folder_option), folder.root, folder.name, std::to_string(folder.device),
          std::to_string(folder.inode)};
}

std::optional<os::KnownFolder> parse_folder_words(char** words) {
  if (words[0] != folder_option) return std::nullopt;
  const auto device = parse_id(words[3]);
  const auto inode = parse_id(words[4]);
  if (!device || !inode) return std::nullopt;
  return os::KnownFolder{words[1], words[2], *device, *inode};
}

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

int enter_sandbox(char** command, const std::optional<os::KnownFolder>& folder) {
  for (const int number : soft_signals) ::signal(number, SIG_DFL);
  say(entered);
  if (command[0] == nullptr) return EXIT_SUCCESS;
  // Close-on-exec, so that the tool cannot write the status file.
  ::fcntl(sandbox_fd, F_SETFD, FD_CLOEXEC);
  const int error = folder ? change_folder(*folder) : 0;
  const os::SpawnFailure failure =
      error == 0 ? os::become_program(command, environ) : os::SpawnFailure{error, os::SpawnFailure::Stage::folder};
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
