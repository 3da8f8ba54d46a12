#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include "tests/zoo/mode.h"

// What a tool may print, and how.
extern "C" char** environ;

namespace reeve::zoo {

namespace {

constexpr std::size_t block_bytes = 64 * 1024;

std::string numbered_line(std::int64_t number, std::int64_t pad) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "line %06lld", static_cast<long long>(number));
  std::string line = text.data();
  if (pad > 0) line.append(" ").append(static_cast<std::size_t>(pad), 'x');
  return line + '\n';
}

void print_lines(int fd, std::int64_t start, std::int64_t count, std::int64_t pad, std::int64_t pause) {
  std::string block;
  for (std::int64_t i = 0; i < count; ++i) {
    block += numbered_line(start + i, pad);
    if (pause == 0 && block.size() < block_bytes) continue;
    write_all(fd, block);
    block.clear();
    if (pause > 0 && i + 1 < count) pause_ms(pause);
  }
  write_all(fd, block);
}

int lines(const Words& words) {
  const int fd = has_option(words, "--stderr") ? STDERR_FILENO : STDOUT_FILENO;
  print_lines(fd, option(words, "--start", 1), number_at(words, 0), option(words, "--pad", 0),
              option(words, "--pause", 0));
  return 0;
}

int write_then_exit(const Words& words) {
  const auto code = static_cast<int>(number_at(words, 1));
  print_lines(STDOUT_FILENO, 1, number_at(words, 0), 0, 0);
  std::_Exit(code);
}

int long_line(const Words& words) {
  const std::string block(block_bytes, 'x');
  for (auto left = static_cast<std::size_t>(number_at(words, 0)); left > 0;) {
    const std::size_t count = std::min(left, block.size());
    write_all(STDOUT_FILENO, std::string_view(block).substr(0, count));
    left -= count;
  }
  return 0;
}

int binary(const Words& words) {
  std::string bytes(static_cast<std::size_t>(number_at(words, 0)), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 256);
  write_all(STDOUT_FILENO, bytes);
  return 0;
}

int bad_utf8(const Words&) {
  constexpr std::array<std::string_view, 7> samples = {
      "lone continuation \x80 end",
      "overlong \xC0\xAF end",
      "surrogate \xED\xA0\x80 end",
      "too large \xF4\x90\x80\x80 end",
      "cut \xE2\x82",
      "never \xFE\xFF end",
      "good \xC3\xA9 end",
  };
  for (const std::string_view sample : samples) say(sample);
  return 0;
}

int ansi_bomb(const Words&) {
  constexpr std::array<std::string_view, 12> sequences = {
      "\x1b[31mred\x1b[0m",          // colour
      "\x1b[2J\x1b[H",               // clear the screen
      "\x1b[?1049h",                 // the other screen
      "\x1b]0;a title\x07",          // title
      "\x1b]52;c;cm0gLXJmIC8=\x07",  // clipboard
      "\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\",
      "\x1bP+q544e\x1b\\",  // requests a reply, which the terminal types
      "\x1b[6n",            // the same
      "\x1b[99999;99999H",
      "\x9b"
      "31m",  // one-byte CSI, not UTF-8
      "\x07\x07\x07",
      "\r\x1b[K\x1b[1A",
  };
  std::string bomb;
  for (std::size_t i = 0; bomb.size() < 1'000'000; ++i) {
    bomb += sequences[i % sequences.size()];
    if (i % 100 == 99) bomb += '\n';
  }
  // An unterminated string hides all later output on a naive terminal.
  write_all(STDOUT_FILENO, bomb + "\x1b]0;" + std::string(100'000, 't') + "\n\x1bPno end\nend of bomb\n");
  return 0;
}

int drip(const Words& words) {
  const std::string text = word_at(words, 0) + '\n';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i > 0) pause_ms(number_at(words, 1));
    write_all(STDOUT_FILENO, std::string_view(text).substr(i, 1));
  }
  return 0;
}

int secret_split(const Words&) {
  const char* value = std::getenv("MY_TOKEN");
  if (value == nullptr) throw WrongUsage("MY_TOKEN is not set");
  const std::string_view secret = value;
  write_all(STDOUT_FILENO, secret.substr(0, secret.size() / 2));
  pause_ms(50);
  write_all(STDOUT_FILENO, std::string(secret.substr(secret.size() / 2)) + '\n');
  return 0;
}

int show_environment(const Words&) {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  std::ranges::sort(entries);
  for (const std::string& entry : entries) say(entry);
  return 0;
}

int show_folder(const Words&) {
  std::array<char, 4096> folder{};
  if (::getcwd(folder.data(), folder.size()) == nullptr) fail("getcwd");
  say(folder.data());
  return 0;
}

int show_arguments(const Words& words) {
  for (const std::string& word : words) say(word);
  return 0;
}

int read_stdin(const Words&) {
  std::string text;
  std::array<char, block_bytes> block{};
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  say("stdin: " + std::to_string(text.size()) + " bytes");
  write_all(STDOUT_FILENO, text);
  return 0;
}

// One line for each time that the effect happened.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "-" : value;
}

int effect(const Words& words) {
  const std::string line = word_at(words, 1) + ' ' + variable("REEVE_RUN_ID") + ' ' + variable("REEVE_ATTEMPT") + ' ' +
                           std::to_string(::getpid()) + '\n';
  const int fd = ::open(words[0].c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || ::fsync(fd) != 0) {
    fail("cannot write " + words[0]);
  }
  ::close(fd);
  say("done");
  return 0;
}

// The number of ledger lines that start with `beginning`.
std::int64_t count_lines(const std::string& path, const std::string& beginning) {
  std::ifstream file(path);
  std::int64_t count = 0;
  for (std::string line; std::getline(file, line);) count += line.starts_with(beginning) ? 1 : 0;
  return count;
}

void append_line(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const std::string whole = line + '\n';
  if (fd < 0 || ::write(fd, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size())) {
    fail("cannot write " + path);
  }
  ::close(fd);
}

// A workflow step that records its start and end in an independent ledger. The ledger's path is not an argument: files
// named in a command are part of what a person approves, and this one changes (APR-10).
int step(const Words& words) {
  const std::string path = variable("STEP_LEDGER");
  const std::string node =
      word_at(words, 0) + ' ' + variable("REEVE_EXECUTION_ID") + ' ' + variable("REEVE_NODE_ID") + ' ';
  const std::string attempt = variable("REEVE_RUN_ID") + ' ' + variable("REEVE_ATTEMPT") + ' ';
  append_line(path, "begin " + node + attempt + std::to_string(::getpid()));
  pause_ms(option(words, "--pause", 0));
  const bool must_fail = count_lines(path, "end " + node) < option(words, "--fail", 0);
  say(must_fail ? "not yet" : "done");
  append_line(path, "end " + node + attempt + (must_fail ? "1" : "0"));
  return must_fail ? 1 : 0;
}

// The result depends on the node and its inputs, never on time or place.
int fate(const Words& words) {
  std::string told = word_at(words, 0) + ' ' + variable("REEVE_NODE_ID") + ' ';
  if (!has_option(words, "--gate")) told.append(std::istreambuf_iterator<char>(std::cin), {});
  std::uint64_t mixed = 0xcbf29ce484222325ULL;
  for (const char c : told) mixed = (mixed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  mixed >>= 20U;
  write_file(variable("REEVE_OUTPUT"), "{\"x\":" + std::to_string(mixed % 10) + "}");
  const auto often = static_cast<std::uint64_t>(option(words, "--fail", 0));
  return often > 0 && mixed % often == 0 ? 1 : 0;
}

constexpr std::array modes = {
    Mode{"lines", "N [--start S] [--pause MS] [--stderr] [--pad BYTES]", "numbered lines, then exit 0", lines},
    Mode{"write-then-exit", "N CODE", "N numbered lines in big writes, and at once _exit(CODE)", write_then_exit},
    Mode{"long-line", "BYTES", "one line of x without its newline, then exit 0", long_line},
    Mode{"binary", "BYTES", "every value of a byte in turn, then exit 0", binary},
    Mode{"bad-utf8", "", "lines that are no UTF-8, each in another way, and a good one; exit 0", bad_utf8},
    Mode{"ansi-bomb", "", "1 MiB of what terminals obey, and sequences without an end; exit 0", ansi_bomb},
    Mode{"drip", "TEXT PAUSE_MS", "the text and a newline, each byte a write of its own; exit 0", drip},
    Mode{"secret-split", "", "the value of $MY_TOKEN in two writes 50 ms apart, and a newline; exit 0", secret_split},
    Mode{"env", "", "its environment, sorted; exit 0", show_environment},
    Mode{"cwd", "", "its working folder; exit 0", show_folder},
    Mode{"args", "[WORD…]", "its arguments, one a line; exit 0", show_arguments},
    Mode{"read-stdin", "", "reads to the end, says `stdin: N bytes` and repeats the bytes; exit 0", read_stdin},
    Mode{"effect", "FILE WORD", "appends `WORD $REEVE_RUN_ID $REEVE_ATTEMPT PID`, synced; says `done`; exit 0", effect},
    Mode{"step", "WORD [--pause MS] [--fail N]",
         "appends to $STEP_LEDGER `begin WORD EXECUTION NODE RUN ATTEMPT PID`, and `end … CODE`; exit 1 the first N "
         "times, then 0",
         step},
    Mode{"fate", "SEED [--fail N] [--gate]",
         "an `x` as its result, by its node and its prompt (a gate has none); exit 1 one time in N", fate},
};

}  // namespace

std::span<const Mode> output_modes() { return modes; }

}  // namespace reeve::zoo
