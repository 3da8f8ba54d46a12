#include "tests/zoo/claude_text.h"

#include <array>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/zoo/mode.h"

namespace reeve::zoo {

std::string find_text(std::string_view document, std::string_view key) {
  const std::string mark = "\"" + std::string(key) + "\"";
  std::size_t at = document.find(mark);
  while (at != std::string_view::npos) {
    at += mark.size();
    while (at < document.size() && (document[at] == ' ' || document[at] == ':')) ++at;
    if (at < document.size() && document[at] == '"') break;
    at = document.find(mark, at);
  }
  std::string text;
  if (at == std::string_view::npos) return text;
  for (++at; at < document.size() && document[at] != '"'; ++at) {
    if (document[at] != '\\' || at + 1 == document.size()) {
      text += document[at];
      continue;
    }
    ++at;
    text += document[at] == 'n' ? '\n' : document[at] == 't' ? '\t' : document[at];
  }
  return text;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

HookEnd run_hook(const std::string& command, const std::string& input) {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) fail("pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::string shell = "sh";
  std::string option = "-c";
  std::string line = command;
  std::array<char*, 4> argv = {shell.data(), option.data(), line.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, "/bin/sh", &actions, nullptr, argv.data(), environ) != 0) fail("cannot start the hook");
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  write_all(in[1], input);
  ::close(in[1]);
  HookEnd end;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(out[0], part.data(), part.size())) > 0;) {
    end.out.append(part.data(), static_cast<std::size_t>(got));
  }
  ::close(out[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace reeve::zoo
