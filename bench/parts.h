#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

// The common command line of the programs in this folder: `PROGRAM FOLDER [PART…]`; default: all parts.
namespace reeve::bench {

// This program; the built programs are in the same folder.
inline std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

[[noreturn]] inline void fail(const std::string& what) {
  fmt::print(stderr, "{}: {}\n", own_program().filename().string(), what);
  std::exit(1);
}

struct Part {
  std::string name;
  std::function<void()> measure;
};

// Runs the named parts; exits this program if a name is unknown.
inline void measure_parts(const std::vector<Part>& all, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_known = std::ranges::find(all, name, &Part::name) != all.end();
    if (!is_known) fail("no such part: " + name);
  }
  for (const Part& part : all) {
    if (names.empty() || std::ranges::find(names, part.name) != names.end()) part.measure();
  }
}

// The command line arguments; with too few, prints the usage and exits this program.
inline std::vector<std::string> words_of(int argc, char** argv, std::size_t least, std::string_view usage) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= least) return words;
  fmt::print(stderr, "usage: {} {}\n", own_program().filename().string(), usage);
  std::exit(2);
}

}  // namespace reeve::bench
