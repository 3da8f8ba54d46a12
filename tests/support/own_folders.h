#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reeve::testing {

// No test uses the folders of the user who runs the tests: in each test program HOME and the XDG folders are replaced
// by a scratch folder before the first test, and this fails the test if a program would be started with the user's own.
void expect_scratch_folders(const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace reeve::testing
