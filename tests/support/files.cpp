#include "tests/support/files.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include <gtest/gtest.h>

namespace reeve::testing {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << "no such file: " << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

fs::path source_folder() { return REEVE_SOURCE_DIR; }

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "reeve-test-XXXXXX").string();
  EXPECT_NE(::mkdtemp(name.data()), nullptr);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

fs::path ScratchFolder::write(const fs::path& name, std::string_view text) const {
  const fs::path file = path_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

bool accepts_golden() {
  const char* value = std::getenv("REEVE_ACCEPT");
  return value != nullptr && std::string_view(value) == "1";
}

void expect_golden(const fs::path& file, std::string_view text) {
  if (accepts_golden()) {
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(read_text(file), text) << "differs from " << file.string()
                                   << "; if the new text is right, run the test with REEVE_ACCEPT=1";
}

}  // namespace reeve::testing
