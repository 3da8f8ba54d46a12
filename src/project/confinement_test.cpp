#include "project/confinement.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace reeve::project {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The position of "--NAME PATH"; the number of words if it is absent.
std::size_t place_of(const std::vector<std::string>& words, const std::string& name, const std::string& path) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == name && words[i + 1] == path) return i;
  }
  return words.size();
}

// APR-11: a later mount covers an earlier one.
TEST(Confinement, hiding_mounts_follow_exposing_mounts) {
  const Confinement confinement{.working_folder = "/home/a/p",
                                .start_folder = "/home/a/p",
                                .private_folders = {"/tmp"},
                                .shown = {},
                                .writable = {},
                                .read_only = {"/home/a/p/.reeve"},
                                .hidden = {"/home/a/p/.reeve/state"},
                                .masked = {},
                                .own_folders = {"/home/a/p/.reeve/state/runs/TR-1/1/own"},
                                .programs = {"/usr/bin/reeve-keeper"}};
  const auto words = make_bubblewrap_words(confinement);
  EXPECT_THAT(words, Contains("--disable-userns"));
  const std::size_t root = place_of(words, "--ro-bind", "/");
  const std::size_t working = place_of(words, "--bind", "/home/a/p");
  const std::size_t config = place_of(words, "--ro-bind", "/home/a/p/.reeve");
  const std::size_t state = place_of(words, "--tmpfs", "/home/a/p/.reeve/state");
  const std::size_t own = place_of(words, "--bind", "/home/a/p/.reeve/state/runs/TR-1/1/own");
  EXPECT_LT(root, working);
  EXPECT_LT(working, config);
  EXPECT_LT(config, state);
  EXPECT_LT(state, own);
  EXPECT_LT(own, words.size());
  EXPECT_THAT(words, Contains("--die-with-parent"));
  EXPECT_THAT(words, Contains("--unshare-pid"));
  // Visible anyway, so nothing is mounted on it.
  EXPECT_THAT(words, Not(Contains("/usr/bin/reeve-keeper")));
}

// If it could be renamed, another config could replace it.
TEST(Confinement, folders_above_protected_paths_cannot_be_renamed) {
  const Confinement confinement{.working_folder = "/home/a",
                                .start_folder = "/home/a",
                                .private_folders = {},
                                .shown = {},
                                .writable = {},
                                .read_only = {"/home/a/b/c/.reeve"},
                                .hidden = {},
                                .masked = {},
                                .own_folders = {},
                                .programs = {}};
  const auto words = make_bubblewrap_words(confinement);
  const std::size_t outer = place_of(words, "--bind", "/home/a/b");
  const std::size_t inner = place_of(words, "--bind", "/home/a/b/c");
  EXPECT_LT(outer, inner);
  EXPECT_LT(inner, place_of(words, "--ro-bind", "/home/a/b/c/.reeve"));
}

TEST(Confinement, reeves_own_folders_are_refused_as_working_folder) {
  const testing::ScratchFolder scratch;
  const StateFolder state{scratch.path() / ".reeve/state"};
  fs::create_directories(state.runs());
  EXPECT_TRUE(find_confinement(scratch.path().string(), state));
  EXPECT_FALSE(find_confinement(state.root.string(), state));
  EXPECT_FALSE(find_confinement(state.runs().string(), state));
  EXPECT_FALSE(find_confinement((scratch.path() / ".reeve").string(), state));
  EXPECT_FALSE(find_confinement("/", state));
  EXPECT_FALSE(find_confinement((scratch.path() / "not there").string(), state));
}

// APR-11: a tool that can put its own `bwrap` in the PATH would escape the sandbox.
TEST(Confinement, only_a_bubblewrap_owned_by_root_is_used) {
  const testing::ScratchFolder scratch;
  const fs::path own = scratch.path() / "bin";
  fs::create_directories(own);
  fs::create_symlink("/bin/sh", own / "bwrap");
  // A folder owned by root is accepted; this one is writable by everyone.
  fs::permissions(own, fs::perms::all);
  const auto refused = find_bubblewrap(own.string());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr((own / "bwrap").string()));
  // The next one is used.
  const auto found = find_bubblewrap(own.string() + ":/usr/bin:/bin");
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(*found, fs::canonical("/usr/bin/bwrap").string());
  // The same for a symlink that only appears to be root's.
  fs::create_directory_symlink(own, scratch.path() / "link");
  EXPECT_FALSE(find_bubblewrap((scratch.path() / "link").string()));
  // Never in the current folder.
  fs::current_path(own);
  EXPECT_FALSE(find_bubblewrap(".:"));
  fs::current_path("/");
  EXPECT_FALSE(find_bubblewrap((scratch.path() / "nothing here").string()));
}

// The tool can write the file `.git`.
TEST(Confinement, forged_git_file_grants_no_writable_paths) {
  const testing::ScratchFolder scratch;
  const StateFolder state{scratch.path() / "state"};
  const fs::path own = scratch.path() / "main/.git/worktrees/tree";
  fs::create_directories(own);
  fs::create_directories(scratch.path() / "main/.git/objects");
  scratch.write("tree/.git", "gitdir: " + own.string() + "\n");
  scratch.write("liar/.git", "gitdir: " + own.string() + "\n");
  scratch.write("main/.git/worktrees/tree/gitdir", (scratch.path() / "tree/.git").string() + "\n");
  EXPECT_THAT(find_confinement((scratch.path() / "tree").string(), state)->writable,
              ElementsAre(own.string(), (scratch.path() / "main/.git/objects").string()));
  EXPECT_THAT(find_confinement((scratch.path() / "liar").string(), state)->writable, IsEmpty());
}

}  // namespace
}  // namespace reeve::project
