#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include "tests/zoo/mode.h"

namespace reeve::zoo {

const std::string& word_at(const Words& words, std::size_t index) {
  if (index >= words.size()) throw WrongUsage("an argument is missing");
  return words[index];
}

std::int64_t number_at(const Words& words, std::size_t index) {
  const std::string& word = word_at(words, index);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) {
    throw WrongUsage("not a number: " + word);
  }
  return number;
}

std::int64_t option(const Words& words, std::string_view name, std::int64_t otherwise) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name) return number_at(words, i + 1);
  }
  return otherwise;
}

bool has_option(const Words& words, std::string_view name) {
  for (const std::string& word : words) {
    if (word == name) return true;
  }
  return false;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "-";
}

std::string text_option(const Words& words, std::string_view name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name) return word_at(words, i + 1);
  }
  return {};
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) std::_Exit(74);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void say(std::string_view line) { write_all(STDOUT_FILENO, std::string(line) + "\n"); }

void write_file(const std::string& path, std::string_view text) {
  const std::string draft = path + ".draft";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) fail("cannot write " + draft);
  write_all(fd, text);
  ::close(fd);
  if (::rename(draft.c_str(), path.c_str()) != 0) fail("cannot write " + path);
}

void leave_effect(const std::string& file, const std::string& id) {
  const std::string line =
      id + ' ' + variable("REEVE_RUN_ID") + ' ' + variable("REEVE_ATTEMPT") + ' ' + std::to_string(::getpid()) + '\n';
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || ::fsync(fd) != 0) {
    fail("cannot write " + file);
  }
  ::close(fd);
}

void pause_ms(std::int64_t milliseconds) {
  timespec left{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

void sleep_for_ever() {
  while (true) ::pause();
}

double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void fail(std::string_view doing) {
  write_all(STDERR_FILENO, "zoo: " + std::string(doing) + ": " + std::strerror(errno) + "\n");
  std::_Exit(74);
}

namespace {

std::vector<Mode> all_modes() {
  std::vector<Mode> modes;
  for (const auto group :
       {output_modes(), event_modes(), process_modes(), terminal_modes(), call_modes(), claude_modes()}) {
    modes.insert(modes.end(), group.begin(), group.end());
  }
  return modes;
}

std::string usage() {
  std::string text =
      "usage: reeve_zoo MODE [ARGUMENT…]\n\nA fake agent. What takes time ends only when its line says so.\n\n";
  for (const Mode& mode : all_modes()) {
    text.append("  ").append(mode.name).append(" ").append(mode.arguments).append("\n");
    text.append("      ").append(mode.what).append("\n");
  }
  return text;
}

int run(const Words& words) {
  const std::string name = words.empty() ? "" : words.front();
  if (name == "--help" || name == "help") {
    write_all(STDOUT_FILENO, usage());
    return 0;
  }
  for (const Mode& mode : all_modes()) {
    if (mode.name == name) return mode.run(Words(words.begin() + 1, words.end()));
  }
  throw WrongUsage(name.empty() ? "no mode" : "no such mode: " + name);
}

}  // namespace
}  // namespace reeve::zoo

int main(int argc, char** argv) {
  try {
    return reeve::zoo::run({argv + 1, argv + argc});
  } catch (const reeve::zoo::WrongUsage& wrong) {
    std::fprintf(stderr, "reeve_zoo: %s (see --help)\n", wrong.what());
    return 2;
  }
}
