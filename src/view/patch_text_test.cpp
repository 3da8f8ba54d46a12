#include "view/patch_text.h"

#include <gmock/gmock.h>

namespace reeve::view {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr base::WallTime now{std::chrono::seconds(1'800'000'000)};

model::Patch make_patch() {
  model::Patch patch;
  patch.patch_id = base::PatchId(3);
  patch.execution_id = patch.root_id = base::ExecutionId(9);
  patch.node_id = "fix\x1b[31m";
  patch.base_commit = std::string(40, 'a');
  patch.commit = std::string(40, 'b');
  patch.files = {{"src/a.cpp", 10, 3}, {"evil\x1b[2Jname", 0, 1}};
  patch.diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+\tnew \x1b]0;title\x07\r+hidden\n";
  patch.state = model::PatchState::conflicted;
  patch.history = {{model::PatchState::created, now - std::chrono::minutes(5), std::nullopt},
                   {model::PatchState::conflicted, now - std::chrono::minutes(1), "you changed\nthe same"}};
  patch.created_at = now - std::chrono::minutes(5);
  return patch;
}

// LOG-3: what an agent wrote is data, and nothing of it is out of sight.
TEST(PatchText, diff_cannot_control_the_terminal) {
  for (const bool color : {false, true}) {
    const std::string text = diff_text(make_patch().diff, {.color = color});
    EXPECT_THAT(text, Not(HasSubstr("\x1b]")));
    EXPECT_THAT(text, Not(HasSubstr("\r")));
    EXPECT_THAT(text, HasSubstr("hidden"));
    EXPECT_THAT(text, HasSubstr("+\tnew"));
  }
  EXPECT_THAT(diff_text("+x\n", {.color = true}), HasSubstr("\x1b[32m+x"));
  EXPECT_EQ(diff_text("", {}), "");
}

TEST(PatchText, deleted_files_are_named_so) {
  EXPECT_THAT(file_lines({{"a.cpp", 0, 3, true}, {"b.cpp", 0, 3}}, {}),
              ElementsAre(EndsWith("  a.cpp (deleted)"), EndsWith("  b.cpp")));
}

TEST(PatchText, details_have_history_and_files) {
  const std::string text = patch_details(make_patch(), {}, now);
  EXPECT_THAT(text, HasSubstr("PA-3  EX-9/fix"));
  EXPECT_THAT(text, HasSubstr("✗ conflicted"));
  EXPECT_THAT(text, HasSubstr("5m ago created"));
  EXPECT_THAT(text, HasSubstr("1m ago conflicted: you changed\\nthe same"));
  EXPECT_THAT(text, HasSubstr("2 files +10 -4"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const std::string pipe = patch_details(make_patch(), {}, {});
  EXPECT_THAT(pipe, HasSubstr("state\tconflicted\n"));
  EXPECT_THAT(pipe, HasSubstr("file\tsrc/a.cpp\t10\t3\n"));
}

TEST(PatchText, listing_has_one_line_per_patch) {
  EXPECT_THAT(patches_table({make_patch()}, {}, now).for_terminal({}), HasSubstr("2 files +10 -4"));
  EXPECT_THAT(patches_table({make_patch()}, {}, {}).for_pipe(), HasSubstr("PA-3\tconflicted\tEX-9\tfix"));
}

}  // namespace
}  // namespace reeve::view
