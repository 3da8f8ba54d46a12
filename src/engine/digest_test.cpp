#include "engine/digest.h"

#include <functional>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace reeve::engine {
namespace {

ApprovedThing make_thing() {
  return {.tool = "deploy",
          .argv = {"sh", "deploy.sh", "--to", "prod"},
          .cwd = {1, 2},
          .environment = {{"A", "1"}, {"B", "2"}},
          .scripts = {{"deploy.sh", "abc"}},
          .diff = "+line",
          .arguments = "{}"};
}

// APR-10: every part counts, and the new question can say which.
TEST(Digest, covers_every_part) {
  const std::vector<std::pair<std::function<void(ApprovedThing&)>, std::string>> changes = {
      {[](ApprovedThing& t) { t.tool = "other"; }, "the tool"},
      {[](ApprovedThing& t) { t.argv.emplace_back("--force"); }, "the command"},
      {[](ApprovedThing& t) { t.argv = {"sh", "deploy.sh --to", "prod"}; }, "the command"},
      {[](ApprovedThing& t) { t.cwd.inode = 3; }, "the working folder"},
      {[](ApprovedThing& t) { t.cwd.device = 3; }, "the working folder"},
      {[](ApprovedThing& t) { t.environment["A"] = "x"; }, "the variable `A`"},
      {[](ApprovedThing& t) { t.environment["C"] = "3"; }, "the variable `C`"},
      {[](ApprovedThing& t) { t.environment.erase("B"); }, "the environment"},
      {[](ApprovedThing& t) { t.scripts[0].sha256 = "abd"; }, "the script `deploy.sh`"},
      {[](ApprovedThing& t) { t.scripts.clear(); }, "the scripts"},
      {[](ApprovedThing& t) { t.diff = "-line"; }, "the diff"},
      {[](ApprovedThing& t) { t.arguments = "[]"; }, "the arguments"},
  };
  const ApprovedThing approved = make_thing();
  std::set<std::string> digests = {digest_of(approved)};
  EXPECT_EQ(find_difference(approved, make_thing()), "");
  EXPECT_EQ(digest_of(make_thing()), digest_of(approved));
  for (const auto& [change, name] : changes) {
    ApprovedThing now = make_thing();
    change(now);
    EXPECT_TRUE(digests.insert(digest_of(now)).second) << name;
    EXPECT_EQ(find_difference(approved, now), name);
  }
}

// Grants are stored with their digest: a new form would void them all.
TEST(Digest, is_stable_across_versions) {
  EXPECT_EQ(digest_of(make_thing()), "sha256:f4a6e78a7b41e24ecb6342dfad66c147513712c583e73a0fdf0ca6256f7b83bb");
}

// No text passes for two, however it is cut.
RC_GTEST_PROP(Digest, tells_apart_how_words_are_cut,
              (const std::vector<std::string>& left, const std::vector<std::string>& right)) {
  ApprovedThing one;
  ApprovedThing other;
  one.argv = left;
  other.argv = right;
  RC_ASSERT((digest_of(one) == digest_of(other)) == (left == right));
  RC_ASSERT(find_difference(one, other).empty() == (left == right));
}

}  // namespace
}  // namespace reeve::engine
