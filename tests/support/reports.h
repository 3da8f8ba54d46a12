#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"

// Reports that broken programs leave behind: those of sanitizers, in a separate folder (src/apps/sanitizer.cpp). The
// guard restarts a broken daemon, so that a test would not notice otherwise. After each test the folder is checked, and
// a report fails the test.
namespace reeve::testing {

// Created with the first report; removed with the process.
const std::filesystem::path& reports_folder();

// Returns the reports with their names, and removes them.
std::vector<std::string> take_reports();

// The environment of a program; in sanitizer builds with the path of that folder.
std::vector<std::string> settings_of(const Launch& launch);

// Core files in it, and lines of a daemon's log that report a failed assertion.
std::vector<std::string> find_breaks(const std::filesystem::path& folder);

}  // namespace reeve::testing
