#include "agents/protocol/codex_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agents/protocol/acp_command.h"

namespace reeve::agents {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(CodexCommand, speaks_on_standard_input_with_its_own_program) {
  const AgentCommand command = make_codex_command({.command = {"/opt/codex", "--profile", "x"}, .folder = "/work"});
  ASSERT_GE(command.argv.size(), 6U);
  EXPECT_THAT(std::vector<std::string>(command.argv.begin(), command.argv.begin() + 6),
              ElementsAre("/opt/codex", "--profile", "x", "app-server", "--disable", "plugins"));
  EXPECT_FALSE(command.input.has_value());
  EXPECT_EQ(make_codex_command({.folder = "/work"}).argv.front(), "codex");
}

// AGT-5: what Codex does without asking is off.
TEST(CodexCommand, features_that_act_unasked_are_off) {
  const AgentCommand command = make_codex_command({.folder = "/work"});
  for (const char* setting :
       {"web_search=\"disabled\"", "features.unified_exec_tty=false", "features.multi_agent=false",
        "features.hooks=false", "features.guardian_approval=false", "features.goals=false", "features.view_image=false",
        "features.code_mode=false", "features.apps=false", "check_for_update_on_startup=false"}) {
    EXPECT_THAT(command.argv, Contains(setting));
  }
}

// AGT-5: settings of the repository never loosen, whichever of its folders is its root.
TEST(CodexCommand, folder_and_its_parents_are_not_trusted) {
  const auto last = [](const std::string& folder) { return make_codex_command({.folder = folder}).argv.back(); };
  EXPECT_EQ(last("/work/shop"), R"(projects={"/work/shop"={trust_level="untrusted"},"/work"={trust_level="untrusted"},)"
                                R"("/"={trust_level="untrusted"}})");
  EXPECT_EQ(last("/"), R"(projects={"/"={trust_level="untrusted"}})");
  EXPECT_EQ(last("/a\"b"), R"(projects={"/a\"b"={trust_level="untrusted"},"/"={trust_level="untrusted"}})");
}

TEST(AcpCommand, is_the_configured_one_without_updates) {
  const AgentCommand command = make_acp_command({.command = {"gemini", "--acp"}, .folder = "/work"});
  EXPECT_THAT(command.argv, ElementsAre("gemini", "--acp"));
  EXPECT_EQ(command.environment.at("DISABLE_AUTOUPDATER"), "1");
  EXPECT_FALSE(command.input.has_value());
}

}  // namespace
}  // namespace reeve::agents
