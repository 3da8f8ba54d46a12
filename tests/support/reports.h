#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"

// What the programs that a test starts leave behind when they break: reports of sanitizers, which go into a folder of
// their own (src/apps/sanitizer.cpp). A daemon is started again by its guard, so that nobody else would notice. After
// each test of this process the folder is looked into, and a report fails the test.
namespace reeve::testing {

// Made with the first; gone with the process.
const std::filesystem::path& reports_folder();

// Those there are, each with its name; they are gone then.
std::vector<std::string> take_reports();

// The environment as a program gets it; in sanitizer builds with the name of that folder.
std::vector<std::string> settings_of(const Launch& launch);

// Cores beneath it, and lines of a daemon's log that say that something is broken.
std::vector<std::string> find_breaks(const std::filesystem::path& folder);

}  // namespace reeve::testing
