#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Fake agents. Each mode behaves or misbehaves in one way that a supervisor must handle.
namespace reeve::zoo {

// The arguments after the mode's name.
using Words = std::vector<std::string>;

struct Mode {
  std::string_view name;
  std::string_view arguments;
  std::string_view what;
  // Returns the exit code.
  int (*run)(const Words& words);
};

std::span<const Mode> output_modes();
std::span<const Mode> event_modes();
std::span<const Mode> process_modes();
std::span<const Mode> terminal_modes();
std::span<const Mode> call_modes();
std::span<const Mode> claude_modes();

class WrongUsage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

const std::string& word_at(const Words& words, std::size_t index);
std::int64_t number_at(const Words& words, std::size_t index);
// The number after `--name`, else `otherwise`.
std::int64_t option(const Words& words, std::string_view name, std::int64_t otherwise);
bool has_option(const Words& words, std::string_view name);
// The text after `--name`; empty without it.
std::string text_option(const Words& words, std::string_view name);
// Of the environment; "-" if it is not set.
std::string variable(const char* name);

// Writes everything in as few writes as the kernel allows, bypassing the library's buffers.
void write_all(int fd, std::string_view bytes);
void say(std::string_view line);
// The file appears with its whole text or not at all.
void write_file(const std::string& path, std::string_view text);
// Appends a line that says that this run and attempt did what `id` names, synced.
void leave_effect(const std::string& file, const std::string& id);
void pause_ms(std::int64_t milliseconds);
[[noreturn]] void sleep_for_ever();
// Seconds of a monotonic clock.
double seconds_now();
[[noreturn]] void fail(std::string_view doing);

}  // namespace reeve::zoo
