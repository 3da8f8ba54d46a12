#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/files.h"

namespace reeve::testing {

// A repository in a temporary folder, made and changed with plain git. While it exists, the home folder of this process
// is there too, so that the user's own git config has no influence.
class GitRepository {
 public:
  // With one commit: file.txt, folder/inner.txt and a .gitignore for *.log.
  GitRepository();
  // Without any.
  struct Empty {};
  explicit GitRepository(Empty);
  ~GitRepository();
  GitRepository(const GitRepository&) = delete;
  GitRepository& operator=(const GitRepository&) = delete;

  const std::filesystem::path& root() const noexcept { return root_; }
  // Next to the checkout: for files that must not be part of it.
  std::filesystem::path beside(const std::filesystem::path& name) const { return scratch_.path() / name; }
  std::filesystem::path home() const { return beside("home"); }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const;
  std::string read(const std::filesystem::path& name) const { return read_text(root_ / name); }

  // The output without the last line break. Fails the test if git fails.
  std::string git(std::vector<std::string> words) const { return git_in(root_, std::move(words)); }
  std::string git_in(const std::filesystem::path& folder, std::vector<std::string> words) const;
  // Commits all files; returns the hash.
  std::string commit(const std::string& message) const;

 private:
  ScratchFolder scratch_;
  std::filesystem::path root_;
  std::optional<std::string> home_before_;
  std::optional<std::string> config_before_;
};

}  // namespace reeve::testing
