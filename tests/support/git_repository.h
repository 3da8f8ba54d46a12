#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/files.h"

namespace reeve::testing {

// A repository in a folder of its own, made and changed with plain git. While it lives, the home folder of this process
// lies there too: nothing of the person who runs the tests shines through.
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
  // Beside the checkout: for whatever must not be part of it.
  std::filesystem::path beside(const std::filesystem::path& name) const { return scratch_.path() / name; }
  std::filesystem::path home() const { return beside("home"); }
  std::filesystem::path write(const std::filesystem::path& name, std::string_view text) const;
  std::string read(const std::filesystem::path& name) const { return read_text(root_ / name); }

  // What it prints, without the last line break. Fails the test when git does.
  std::string git(std::vector<std::string> words) const { return git_in(root_, std::move(words)); }
  std::string git_in(const std::filesystem::path& folder, std::vector<std::string> words) const;
  // Everything that is there; its hash.
  std::string commit(const std::string& message) const;

 private:
  ScratchFolder scratch_;
  std::filesystem::path root_;
  std::optional<std::string> home_before_;
  std::optional<std::string> config_before_;
};

}  // namespace reeve::testing
