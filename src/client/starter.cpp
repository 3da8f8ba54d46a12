#include "client/starter.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/spawn.h"

namespace reeve::client {

namespace fs = std::filesystem;

namespace {

using base::ErrorCode;

constexpr std::size_t max_text = 64 * 1024;

// The variables that a daemon needs from the client that starts it, and none that concern only that client.
std::vector<std::string> daemon_environment(const std::vector<std::string>& more) {
  std::vector<std::string> environment;
  std::set<std::string> names(more.begin(), more.end());
  for (const char* name : {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "PATH", "LANG", "TZ", "TMPDIR", "USER"}) {
    names.insert(name);
  }
#ifdef REEVE_CRASH_POINTS
  // server/request/recorder.h
  names.insert("REEVE_RECORD_EXCHANGES");
#endif
#ifdef REEVE_SANITIZED
  // apps/sanitizer.cpp
  names.insert("REEVE_SANITIZER_REPORTS");
#endif
  for (const std::string& name : names) {
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0') environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

Programs find_programs(Programs programs) {
  std::error_code error;
  if (programs.reeve.empty()) {
    std::string self = fs::read_symlink("/proc/self/exe", error).string();
    // The program was replaced while running: use the new version.
    constexpr std::string_view gone = " (deleted)";
    if (self.ends_with(gone)) self.resize(self.size() - gone.size());
    programs.reeve = self;
  }
  if (programs.keeper.empty()) programs.keeper = programs.reeve.parent_path() / "reeve-keeper";
  if (!fs::exists(programs.keeper, error)) {
    throw base::Error(ErrorCode::daemon_unavailable,
                      fmt::format("no daemon is running, and none can be started: {} is missing",
                                  base::quoted(programs.keeper.string())),
                      "install reeve and reeve-keeper into the same folder");
  }
  return programs;
}

}  // namespace

Starter::Starter(const fs::path& folder, Programs programs, const std::vector<std::string>& variables) {
  programs = find_programs(std::move(programs));
  os::Pipe pipe = os::make_pipe();
  const auto guard = os::spawn({.argv = {programs.keeper.string(), "guard", (folder / "reeve.lock").string(), "--",
                                         programs.reeve.string(), "serve", "--state", folder.string(), "--background"},
                                .environment = daemon_environment(variables),
                                .output = pipe.write.get(),
                                .error = pipe.write.get()});
  if (!guard) {
    throw base::Error(ErrorCode::daemon_unavailable,
                      fmt::format("cannot start {}: {}", base::quoted(programs.keeper.string()),
                                  std::generic_category().message(guard.error().error_number)));
  }
  output_ = std::move(pipe.read);
}

void Starter::wait(base::Milliseconds time) {
  pollfd wanted{.fd = output_ ? output_.get() : -1, .events = POLLIN, .revents = 0};
  if (::poll(&wanted, 1, static_cast<int>(time.count())) <= 0 || !output_) return;
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) {
    output_ = os::Fd();
  } else if (text_.size() < max_text) {
    text_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool Starter::was_beaten() const {
  return text_.find(base::spell(ErrorCode::daemon_already_running)) != std::string::npos;
}

}  // namespace reeve::client
