#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/files.h"

// The packages, as far as they can be checked without building them (./dev package).
namespace reeve {
namespace {

std::string read(const char* file) { return testing::read_text(testing::source_folder() / file); }

// The licences of what the programs contain go with them: each library that is linked from an archive into the .deb is
// named, and each licence that is named is there.
TEST(House, copyright_of_the_package_names_every_library) {
  const std::string text = read("packaging/copyright.libraries");
  int libraries = 0;
  const std::string libraries_file = read("cmake/packages.cmake");
  for (const std::string_view line : base::split(libraries_file, '\n')) {
    constexpr std::string_view start = "reeve_library(";
    if (!line.starts_with(start)) continue;
    const std::string name(line.substr(start.size(), line.find(' ') - start.size()));
    if (!line.substr(start.size() + name.size()).starts_with(" cxx ")) continue;
    ++libraries;
    const std::string shown = name == "re2" ? "RE2" : name.starts_with("boost") ? "Boost" : name;
    EXPECT_TRUE(text.contains(shown)) << name;
  }
  EXPECT_GE(libraries, 4);
  EXPECT_TRUE(text.contains("GNU C Library")) << "the keeper is static";
  std::set<std::string> named;
  std::set<std::string> there = {"Expat"};
  bool is_of_files = false;
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.starts_with("Files: ")) is_of_files = true;
    constexpr std::string_view licence = "License: ";
    if (!line.starts_with(licence)) continue;
    std::string_view rest = line.substr(licence.size());
    if (!is_of_files) there.emplace(rest);
    while (is_of_files && !rest.empty()) {
      const std::size_t end = std::min(rest.find(" and "), rest.size());
      named.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 5, rest.size()));
    }
    is_of_files = false;
  }
  EXPECT_EQ(named, there);
}

// An unprivileged user plays the tutorial in a fresh system, and what is installed beside the program is checked.
TEST(House, package_check_plays_the_tutorial) {
  const std::string text = read("packaging/try");
  for (const std::string_view part : {"commands_of /packages/TUTORIAL.md", "man -M", "systemd-analyze verify --user"}) {
    EXPECT_TRUE(text.contains(part)) << part;
  }
  EXPECT_FALSE(text.contains("--man=no"));
}

// Upgrading is tried with what an earlier daemon left: its database, launch files and live runs.
TEST(House, package_check_upgrades_an_earlier_daemon) {
  const std::string check = read("packaging/check");
  for (const std::string_view part : {"--target reeve reeve-keeper", "packages/earlier-daemon/"}) {
    EXPECT_TRUE(check.contains(part)) << part;
  }
  const std::string text = read("packaging/try");
  std::size_t at = 0;
  for (const std::string_view part :
       {"cp -r /packages/earlier-daemon", "\"$earlier\" flow run", "\"$earlier\" stop", "error[state.unknown]",
        "reeve state adopt", "reeve wait EX-1", "expect_lines TR-2"}) {
    at = text.find(part, at);
    EXPECT_NE(at, std::string::npos) << part << " is missing, or comes too early";
  }
}

// A decision without a terminal needs its confirmation: a question of medium risk is decided with `--yes`.
TEST(House, package_check_confirms_its_decisions) {
  const std::string text = read("packaging/try");
  int decisions = 0;
  for (const std::string_view line : base::split(text, '\n')) {
    const std::string_view words = base::trim(line);
    if (words.starts_with("#")) continue;
    if (!words.contains("reeve answer ") && !words.contains("reeve approve ")) continue;
    ++decisions;
    EXPECT_TRUE(words.contains(" --yes")) << line;
  }
  EXPECT_GE(decisions, 2);
}

}  // namespace
}  // namespace reeve
