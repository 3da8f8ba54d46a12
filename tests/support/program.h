#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace reeve::testing {

// The result of a program.
struct Outcome {
  std::string out;
  std::string err;
  // Its exit code, or 128 + the signal that ended it.
  int code = -1;
};

// How to start it. The environment is exactly this one, independent of the user who runs the tests.
struct Launch {
  std::vector<std::string> argv;
  std::filesystem::path folder = "/";
  std::string input = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  // A file for standard output instead of a pipe.
  std::filesystem::path out_file = {};
};

// Runs it to its end. Fails the test if it cannot be started.
Outcome run_program(const Launch& launch);

// The built `reeve`.
std::string reeve_binary();

}  // namespace reeve::testing
