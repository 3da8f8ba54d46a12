#include "tests/support/reports.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/own_folders.h"

namespace reeve::testing {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_shown = 6'000;
std::atomic<bool> is_made = false;

std::string read_quietly(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Judge : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo& /*test*/) override {
    for (const std::string& report : take_reports()) ADD_FAILURE() << "a program of this test broke:\n" << report;
  }
};

// In every test program, before the first test.
const bool is_judged = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Judge);
  return true;
}();

}  // namespace

const fs::path& reports_folder() {
  static const ScratchFolder folder;
  is_made = true;
  return folder.path();
}

std::vector<std::string> take_reports() {
  std::vector<std::string> found;
  if (!is_made) return found;
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(reports_folder(), error)) files.push_back(entry.path());
  for (const fs::path& file : files) {
    // A test creates this file to request a race report.
    if (file.filename() != "race") {
      found.push_back(file.filename().string() + ":\n" + read_quietly(file).substr(0, max_shown));
    }
    fs::remove(file, error);
  }
  return found;
}

std::vector<std::string> settings_of(const Launch& launch) {
  expect_scratch_folders(launch.environment);
  std::vector<std::string> settings;
#ifdef REEVE_SANITIZED
  const bool is_sanitized = true;
#else
  // The tests may be from another build than the programs.
  const bool is_sanitized = std::getenv("REEVE_TEST_SANITIZED") != nullptr;
#endif
  if (is_sanitized) settings.push_back("REEVE_SANITIZER_REPORTS=" + reports_folder().string());
  for (const auto& [name, value] : launch.environment) settings.push_back(name + "=" + value);
  return settings;
}

std::vector<std::string> find_breaks(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (!at->is_regular_file(ignored)) continue;
    if (name == "core" || name.starts_with("core.")) found.push_back(at->path().string());
    if (name != "daemon.log") continue;
    std::ifstream log(at->path());
    for (std::string line; std::getline(log, line);) {
      if (line.contains("bug: ")) found.push_back(line);
    }
  }
  return found;
}

}  // namespace reeve::testing
