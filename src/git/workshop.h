#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "git/command.h"

namespace reeve::git {

// Where a checkout and its repository are, all without links in their paths.
struct Place {
  // The checkout.
  std::filesystem::path root;
  // Its own part: HEAD, index, what is under way.
  std::filesystem::path own;
  // What all checkouts share: objects, refs, config, the worktrees' own parts. The same for a main checkout.
  std::filesystem::path common;
};
// Looks upwards for `.git` as git does, without reading any config. `git.unsafe_folder` for a worktree of Reeve's own
// and for a `.git` that its repository knows nothing of.
std::optional<Place> find_place(const std::filesystem::path& folder);

// What the lock of a worktree that Reeve made begins with.
inline constexpr std::string_view own_reason = "reeve ";

// The tools of one repository. Two ways to call git: `theirs` in the repository itself, whose config git then reads,
// for the few commands that write refs or know of worktrees; and `ours` for all that reads or writes files and objects,
// in a git folder of Reeve's own that has the repository's objects and a config written here. So no filter, driver or
// converter that the repository configures is known to a git that would run it.
class Workshop {
 public:
  Workshop(Place place, const std::filesystem::path& scratch);

  const Place& place() const noexcept { return place_; }
  // Reeve's own git folder, private.
  const std::filesystem::path& folder() const noexcept { return folder_; }

  Call theirs(std::vector<std::string> words) const;
  // Of a linked worktree: what its own part says about the common folder is not believed, the agent can write there.
  Call theirs_in(const std::filesystem::path& own, std::vector<std::string> words) const;
  // Without files.
  Call ours(std::vector<std::string> words) const;
  Call ours_in(const std::filesystem::path& work_tree, const std::filesystem::path& index,
               std::vector<std::string> words) const;
  // In the person's checkout with its index, as if its HEAD were that commit.
  Call ours_in_checkout(const std::optional<std::string>& head, std::vector<std::string> words) const;
  // Without files but with the attributes of that commit: which files merge by lines, which are binary.
  Call ours_like(const std::string& commit, std::vector<std::string> words) const;

  std::optional<std::string> resolve(const std::string& revision) const;
  std::string tree_of(const std::string& commit) const;
  std::string commit_tree(const std::string& tree, const std::vector<std::string>& parents,
                          const std::string& message) const;

  // The index in which Reeve itself knows the files of a worktree; the agent cannot change it. `name` is that of the
  // worktree's own part.
  std::filesystem::path index_of(const std::string& name) const;
  // A name beside it that nobody uses: git's locks there never meet those of a git that a kill left alone.
  std::filesystem::path make_index_name(const std::string& name) const;

 private:
  // Again when somebody emptied the scratch folder.
  void set_up() const;
  void write_config() const;
  void read_settings();
  void write_attributes(const std::string& commit) const;

  Place place_;
  // Reeve's own git folder.
  std::filesystem::path folder_;
  // Of the person's config, as far as it says what files look like: "core.autocrlf=input".
  std::vector<std::string> settings_;
  std::vector<std::string> sparse_settings_;
  std::string object_format_;
  std::vector<std::string> identity_;
};

}  // namespace reeve::git
