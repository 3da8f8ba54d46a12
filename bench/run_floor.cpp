#include "bench/run_floor.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ;

namespace reeve::bench::floor {

namespace {

constexpr std::size_t block_bytes = 64UL * 1024;

void check(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

struct Ends {
  int read = -1;
  int write = -1;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, "pipe");
  return {ends[0], ends[1]};
}

// Descriptors for 0, 1 and 2; -1: inherited from this program.
pid_t start(const std::vector<std::string>& argv, std::array<int, 3> wanted, short flags = 0) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, flags);
  for (int fd = 0; fd < 3; ++fd) {
    const int from = wanted[static_cast<std::size_t>(fd)];
    if (from >= 0) ::posix_spawn_file_actions_adddup2(&actions, from, fd);
  }
  pid_t child = 0;
  check(::posix_spawnp(&child, words[0], &actions, &attributes, words.data(), environ) == 0, "posix_spawn");
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  return child;
}

void wait_for(pid_t child) {
  int status = 0;
  check(::waitpid(child, &status, 0) == child && status == 0, "the program");
}

}  // namespace

void run_captured(const std::vector<std::string>& argv) {
  const Ends out = make_pipe();
  const Ends err = make_pipe();
  const pid_t child = start(argv, {-1, out.write, err.write});
  ::close(out.write);
  ::close(err.write);
  std::array<pollfd, 2> open = {pollfd{out.read, POLLIN, 0}, pollfd{err.read, POLLIN, 0}};
  std::array<char, 4'096> bytes{};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (::poll(open.data(), open.size(), -1) < 0) continue;
    for (pollfd& end : open) {
      if (end.fd < 0 || end.revents == 0 || ::read(end.fd, bytes.data(), bytes.size()) > 0) continue;
      ::close(end.fd);
      end.fd = -1;
    }
  }
  wait_for(child);
}

void run_piped_into_file(const std::vector<std::string>& argv, const std::filesystem::path& file) {
  const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(target >= 0, file.c_str());
  const Ends pipe = make_pipe();
  const pid_t tool = start(argv, {-1, pipe.write, -1});
  const pid_t cat = start({"/bin/cat"}, {pipe.read, target, -1});
  ::close(pipe.read);
  ::close(pipe.write);
  wait_for(tool);
  wait_for(cat);
  ::close(target);
}

std::uint64_t run_on_terminal(const std::vector<std::string>& argv) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 128> name{};
  check(master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0 &&
            ::ptsname_r(master, name.data(), name.size()) == 0,
        "posix_openpt");
  const int slave = ::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  check(slave >= 0, name.data());
  const pid_t child = start(argv, {slave, slave, slave}, POSIX_SPAWN_SETSID);
  ::close(slave);
  static std::array<char, block_bytes> bytes{};
  std::uint64_t total = 0;
  // The end is EIO.
  for (ssize_t count = 1; count > 0; total += count > 0 ? static_cast<std::uint64_t>(count) : 0) {
    count = ::read(master, bytes.data(), bytes.size());
  }
  ::close(master);
  wait_for(child);
  return total;
}

void escape_lines(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::FILE* in = std::fopen(from.c_str(), "re");
  std::FILE* out = std::fopen(to.c_str(), "we");
  check(in != nullptr && out != nullptr, "fopen");
  std::string bytes(block_bytes, '\0');
  std::string line;
  while (const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), in)) {
    for (std::size_t i = 0; i < count; ++i) {
      const char c = bytes[i];
      if (c == '\n') {
        line += "\"}\n";
        check(std::fwrite(line.data(), 1, line.size(), out) == line.size(), "fwrite");
        line = R"({"text":")";
      } else if (c == '"' || c == '\\') {
        line += '\\';
        line += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        std::array<char, 8> code{};
        std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
        line += code.data();
      } else {
        line += c;
      }
    }
  }
  std::fclose(in);
  check(std::fclose(out) == 0, "fclose");
}

}  // namespace reeve::bench::floor
