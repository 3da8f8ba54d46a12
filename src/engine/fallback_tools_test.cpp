#include "engine/fallback_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// TOOL-6
TEST(FallbackTools, table_matches_the_reference) {
  const auto of = [](std::string_view tool) { return find_fallbacks(tool, {}); };
  EXPECT_THAT(of("Bash"), IsSupersetOf({"shell", "execute_command"}));
  EXPECT_THAT(of("Read"), IsSupersetOf({"read_file", "cat", "file_read"}));
  EXPECT_THAT(of("Write"), IsSupersetOf({"write_file", "file_write", "create_file"}));
  EXPECT_THAT(of("Edit"), IsSupersetOf({"edit_file", "str_replace_editor"}));
  EXPECT_THAT(of("Grep"), IsSupersetOf({"grep", "search", "ripgrep"}));
  EXPECT_THAT(of("Glob"), IsSupersetOf({"glob", "find_files", "list_files"}));
  EXPECT_FALSE(of("WebSearch").empty());
  EXPECT_FALSE(of("WebFetch").empty());
  EXPECT_THAT(of("Rocket"), IsEmpty());
  EXPECT_THAT(of(""), IsEmpty());
}

TEST(FallbackTools, config_comes_first_and_adds) {
  model::AgentSettings settings;
  settings.fallback_tools["bash"] = {"terminal", "shell"};
  settings.fallback_tools["Rocket"] = {"bicycle"};
  EXPECT_THAT(find_fallbacks("Bash", settings), ElementsAre("terminal", "shell", "execute_command", "shell_execute"));
  EXPECT_THAT(find_fallbacks("Rocket", settings), ElementsAre("bicycle"));
}

TEST(FallbackTools, hint_names_available_tools_only) {
  const std::vector<std::string> available = {"shell_execute", "file_read", "search"};
  EXPECT_EQ(make_hint("Bash", available, {}), "`Bash` is not available; use `shell_execute` instead");
  EXPECT_EQ(make_hint("file_read", available, {}), std::nullopt);
  EXPECT_EQ(make_hint("WebFetch", available, {}), std::nullopt);
  EXPECT_EQ(make_hint("\x1b[1mBash", available, {}), std::nullopt);
}

}  // namespace
}  // namespace reeve::engine
