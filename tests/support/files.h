#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace reeve::testing {

// Reads a whole file of the repository. Fails the test if it is missing.
std::string read_text(const std::filesystem::path& path);
// The repository's folder.
std::filesystem::path source_folder();

// A temporary folder for one test, removed at its end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  // Writes a file in it, creating parent folders.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const;

 private:
  std::filesystem::path path_;
};

// Whether golden files are to be written instead of compared: REEVE_ACCEPT=1.
bool accepts_golden();
// Compares with the file, or writes it when golden files are accepted.
void expect_golden(const std::filesystem::path& file, std::string_view text);

}  // namespace reeve::testing
