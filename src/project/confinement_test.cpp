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

// Where "--NAME PATH" stands; the number of words when it does not.
std::size_t place_of(const std::vector<std::string>& words, const std::string& name, const std::string& path) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == name && words[i + 1] == path) return i;
  }
  return words.size();
}

// APR-11: what is mounted later covers what was mounted before.
TEST(Confinement, what_hides_comes_after_what_shows) {
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
  // Seen anyway: nothing is mounted on it.
  EXPECT_THAT(words, Not(Contains("/usr/bin/reeve-keeper")));
}

// Renamed, another config could be put in its place.
TEST(Confinement, folders_above_what_is_kept_cannot_be_renamed) {
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

TEST(Confinement, everything_of_reeve_is_no_working_folder) {
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

// APR-11: a tool that can put a `bwrap` of its own into the PATH would never be kept in a sandbox.
TEST(Confinement, bubblewrap_is_roots_alone) {
  const testing::ScratchFolder scratch;
  const fs::path own = scratch.path() / "bin";
  fs::create_directories(own);
  fs::create_symlink("/bin/sh", own / "bwrap");
  // Root's own folder is as good as any other of root; this one is everybody's.
  fs::permissions(own, fs::perms::all);
  const auto refused = find_bubblewrap(own.string());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error(), HasSubstr((own / "bwrap").string()));
  // The next one counts.
  const auto found = find_bubblewrap(own.string() + ":/usr/bin:/bin");
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(*found, fs::canonical("/usr/bin/bwrap").string());
  // The same by a link that only looks as if it were root's.
  fs::create_directory_symlink(own, scratch.path() / "link");
  EXPECT_FALSE(find_bubblewrap((scratch.path() / "link").string()));
  // Never where this process happens to be.
  fs::current_path(own);
  EXPECT_FALSE(find_bubblewrap(".:"));
  fs::current_path("/");
  EXPECT_FALSE(find_bubblewrap((scratch.path() / "nothing here").string()));
}

// The file `.git` is the tool's to write.
TEST(Confinement, a_folder_that_only_says_it_were_a_worktree_gets_nothing) {
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
