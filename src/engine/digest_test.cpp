#include "engine/digest.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::engine {
namespace {

LaunchFingerprint make_fingerprint() {
  return {.tool = "deploy",
          .argv = {"sh", "deploy.sh", "--to", "prod"},
          .cwd = {1, 2},
          .environment = {{"A", "1"}, {"B", "2"}},
          .scripts = {{"deploy.sh", "abc"}},
          .diff = "+line",
          .arguments = "{}"};
}

// APR-10: every part matters, and the new question can name the changed one.
TEST(Digest, covers_every_part) {
  const std::vector<std::pair<std::function<void(LaunchFingerprint&)>, std::string>> changes = {
      {[](LaunchFingerprint& t) { t.tool = "other"; }, "the tool"},
      {[](LaunchFingerprint& t) { t.argv.emplace_back("--force"); }, "the command"},
      {[](LaunchFingerprint& t) { t.argv = {"sh", "deploy.sh --to", "prod"}; }, "the command"},
      {[](LaunchFingerprint& t) { t.cwd.inode = 3; }, "the working folder"},
      {[](LaunchFingerprint& t) { t.cwd.device = 3; }, "the working folder"},
      {[](LaunchFingerprint& t) { t.environment["A"] = "x"; }, "the variable `A`"},
      {[](LaunchFingerprint& t) { t.environment["C"] = "3"; }, "the variable `C`"},
      {[](LaunchFingerprint& t) { t.environment.erase("B"); }, "the environment"},
      {[](LaunchFingerprint& t) { t.scripts[0].sha256 = "abd"; }, "the script `deploy.sh`"},
      {[](LaunchFingerprint& t) { t.scripts.clear(); }, "the scripts"},
      {[](LaunchFingerprint& t) { t.diff = "-line"; }, "the diff"},
      {[](LaunchFingerprint& t) { t.arguments = "[]"; }, "the arguments"},
  };
  const LaunchFingerprint approved = make_fingerprint();
  std::set<std::string> digests = {digest_of(approved)};
  EXPECT_EQ(find_difference(approved, make_fingerprint()), "");
  EXPECT_EQ(digest_of(make_fingerprint()), digest_of(approved));
  for (const auto& [change, name] : changes) {
    LaunchFingerprint now = make_fingerprint();
    change(now);
    EXPECT_TRUE(digests.insert(digest_of(now)).second) << name;
    EXPECT_EQ(find_difference(approved, now), name);
  }
}

// Grants are stored with their digest: a new format would void them all.
TEST(Digest, is_stable_across_versions) {
  EXPECT_EQ(digest_of(make_fingerprint()), "sha256:f4a6e78a7b41e24ecb6342dfad66c147513712c583e73a0fdf0ca6256f7b83bb");
}

// No text passes for two, however it is split.
RC_GTEST_PROP(Digest, distinguishes_argument_boundaries,
              (const std::vector<std::string>& left, const std::vector<std::string>& right)) {
  LaunchFingerprint one;
  LaunchFingerprint other;
  one.argv = left;
  other.argv = right;
  RC_ASSERT((digest_of(one) == digest_of(other)) == (left == right));
  RC_ASSERT(find_difference(one, other).empty() == (left == right));
}

}  // namespace
}  // namespace reeve::engine
