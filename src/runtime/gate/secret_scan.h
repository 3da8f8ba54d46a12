#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace reeve::runtime {

// Looks for files that a search must not read unasked: those whose names suggest secrets, and those outside the
// worktree that links lead to. Links are followed, as some agents' tools do. `.git` and `node_modules` below a folder
// are skipped: the tools leave out the first, and the second has packages of others. All folders of a call share one
// bound.
class SecretScan {
 public:
  static constexpr std::size_t max_entries = 10'000;
  // The worktree, absolute, without symlinks.
  explicit SecretScan(std::string root, std::size_t most = max_entries) : root_(std::move(root)), left_(most) {}

  // True if there is such a file beneath `folder`, or too much to tell. `folder` is beneath the worktree, without
  // symlinks.
  bool finds_any(const std::string& folder);

 private:
  static bool is_secret(const std::filesystem::path& path);
  std::optional<std::string> follow(const std::string& link) const;

  std::string root_;
  // Entries that may still be looked at.
  std::size_t left_;
  std::set<std::string> seen_;
};

}  // namespace reeve::runtime
