#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace reeve::testing {

// What a program did.
struct Outcome {
  std::string out;
  std::string err;
  // Its exit code, or 128 + the signal that ended it.
  int code = -1;
};

// How to start it. The environment is exactly this one: nothing of the person who runs the tests shines through.
struct Launch {
  std::vector<std::string> argv;
  std::filesystem::path folder = "/";
  std::string input = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  // Where standard output goes instead of a pipe.
  std::filesystem::path out_file = {};
};

// Runs it to its end. Fails the test when it cannot be started.
Outcome run_program(const Launch& launch);

// The built `reeve`.
std::string reeve_binary();

}  // namespace reeve::testing
