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

// What the programs of this folder have in common: `PROGRAM FOLDER [PART…]`, all parts when none is named.
namespace reeve::bench {

// This program; the built programs lie beside it.
inline std::filesystem::path own_program() { return std::filesystem::read_symlink("/proc/self/exe"); }

[[noreturn]] inline void fail(const std::string& what) {
  fmt::print(stderr, "{}: {}\n", own_program().filename().string(), what);
  std::exit(1);
}

struct Part {
  std::string name;
  std::function<void()> measure;
};

// Of all parts those that are named; one that there is not ends this program.
inline void measure_parts(const std::vector<Part>& all, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool is_known = std::ranges::find(all, name, &Part::name) != all.end();
    if (!is_known) fail("there is no part " + name);
  }
  for (const Part& part : all) {
    if (names.empty() || std::ranges::find(names, part.name) != names.end()) part.measure();
  }
}

// The words of the command line; too few of them are told how it is called, and end this program.
inline std::vector<std::string> words_of(int argc, char** argv, std::size_t least, std::string_view usage) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= least) return words;
  fmt::print(stderr, "usage: {} {}\n", own_program().filename().string(), usage);
  std::exit(2);
}

}  // namespace reeve::bench
