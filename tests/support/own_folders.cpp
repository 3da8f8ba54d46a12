#include "tests/support/own_folders.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <pwd.h>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::testing {

namespace {

namespace fs = std::filesystem;

constexpr std::array folder_variables = {"HOME",          "XDG_CONFIG_HOME", "XDG_STATE_HOME",
                                         "XDG_DATA_HOME", "XDG_CACHE_HOME",  "XDG_RUNTIME_DIR"};

// Without a slash at the end.
fs::path normal(const fs::path& path) {
  const fs::path made = path.lexically_normal();
  return made.has_filename() ? made : made.parent_path();
}

// Read before main(), so before anything replaces them.
std::set<fs::path> find_user_folders() {
  std::set<fs::path> found;
  for (const char* name : folder_variables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') found.insert(normal(value));
  }
  if (const passwd* user = ::getpwuid(::geteuid())) found.insert(normal(user->pw_dir));
  return found;
}
// NOLINTNEXTLINE(cert-err58-cpp): without memory no test can run.
const std::set<fs::path> user_folders = find_user_folders();

class OwnFolders : public ::testing::Environment {
 public:
  void SetUp() override {
    scratch_ = std::make_unique<ScratchFolder>();
    for (const char* name : folder_variables) ::unsetenv(name);
    ::setenv("HOME", scratch_->path().c_str(), 1);
  }
  void TearDown() override { scratch_.reset(); }

 private:
  std::unique_ptr<ScratchFolder> scratch_;
};
// gtest owns it.
const ::testing::Environment* const own_folders = ::testing::AddGlobalTestEnvironment(new OwnFolders);

}  // namespace

void expect_scratch_folders(const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const auto& [name, value] : environment) {
    const bool is_folder = std::ranges::find(folder_variables, name) != folder_variables.end();
    EXPECT_FALSE(is_folder && user_folders.contains(normal(value)))
        << name << "=" << value << " is a folder of the user who runs the tests: use the test's scratch folder";
  }
}

}  // namespace reeve::testing
