#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// `reeve policy show|check` (TOOL-1).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;

class PolicyCli : public testing::DaemonTest {
 protected:
  PolicyCli() {
    configure(
        "policies:\n  tools: {file_write: {policy: auto_approve, when: {path: 'docs/**'}}, git_push: deny}\n"
        "  roles: {mayor: {git_add: auto_approve}}\n");
  }
};

TEST_F(PolicyCli, check_prints_the_policy_and_its_rule) {
  EXPECT_EQ(reeve({"policy", "check", "git_log"}).out, "auto_approve\tdefault\n");
  EXPECT_EQ(reeve({"policy", "check", "file_read"}).out, "require_approval\tdefault: no `path`\n");
  EXPECT_EQ(reeve({"policy", "check", "git_add", "--role", "mayor"}).out,
            "auto_approve\tpolicies.roles.mayor.git_add\n");
  const std::string inside = R"({"path":"docs/a.md"})";
  EXPECT_THAT(reeve({"policy", "check", "file_write", "--args", inside}).out, HasSubstr("auto_approve\t"));
  EXPECT_THAT(reeve({"policy", "check", "file_write"}).out, HasSubstr("require_approval\t"));
  const Outcome denied = reeve({"policy", "check", "git_push"});
  EXPECT_EQ(denied.out, "deny\tpolicies.tools.git_push\n");
  EXPECT_EQ(denied.code, 5);
  const Outcome unknown = reeve({"policy", "check", "launch_rocket", "--json"});
  EXPECT_EQ(unknown.code, 0);
  EXPECT_EQ(testing::parse_object(unknown.out.substr(0, unknown.out.find('\n'))).value().at("policy"),
            "require_approval");
  EXPECT_EQ(reeve({"policy", "check", "file_write", "--args", "[]"}).code, 2);
}

// TOOL-1, TOOL-8: paths are resolved, including symlinks and `..` after them.
TEST_F(PolicyCli, check_resolves_paths) {
  std::filesystem::create_directories(project() / "docs");
  std::filesystem::create_directories(project() / "deep/er");
  std::filesystem::create_directory_symlink("/", project() / "docs/root");
  std::filesystem::create_directory_symlink("../deep/er", project() / "docs/in");
  std::filesystem::create_symlink("../.env", project() / "docs/plain.md");
  std::filesystem::create_symlink("loop", project() / "docs/loop");
  const auto check = [&](const std::string& tool, const std::string& path) {
    const std::string out = reeve({"policy", "check", tool, "--args", R"({"path":")" + path + R"("})"}).out;
    return out.substr(0, out.find('\t'));
  };
  for (const std::string& path :
       std::vector<std::string>{"src/a.c", "docs/in/x", "docs/in/../y", (project() / "src/a.c").string()}) {
    EXPECT_EQ(check("file_read", path), "auto_approve") << path;
  }
  for (const std::string& path :
       std::vector<std::string>{"/etc/passwd", "../x", ".env", "~/.ssh/id_rsa", "/proc/self/environ", "docs/root/etc/x",
                                "docs/root", "docs/plain.md", "docs/loop", "docs/in/../../../x"}) {
    EXPECT_EQ(check("file_read", path), "require_approval") << path;
  }
  EXPECT_EQ(check("file_write", "docs/a.md"), "auto_approve");
  for (const std::string& path : std::vector<std::string>{"docs/../etc/x", "docs/root/etc/x", "docs/in/x"}) {
    EXPECT_EQ(check("file_write", path), "require_approval") << path;
  }
}

TEST_F(PolicyCli, show_has_every_rule) {
  const Outcome shown = reeve({"policy", "show"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("mayor\tgit_add\tauto_approve\t-\tconfig\n"),
                               HasSubstr("-\tfile_write\tauto_approve\t{\"path\":\"docs/**\"}\tconfig\n"),
                               HasSubstr("witness\tfile_write\tdeny\t-\tdefault\n"),
                               HasSubstr("-\tforce_push\tdeny\t-\tdefault\n")));
  // A default is hidden when a rule overrides it for all calls, and listed when a rule covers only some.
  EXPECT_THAT(shown.out,
              AllOf(HasSubstr("-\tgit_push\tdeny\t-\tconfig\n"), Not(HasSubstr("-\tgit_push\trequire_approval")),
                    HasSubstr("-\tfile_write\trequire_approval\t-\tdefault\n")));
  EXPECT_THAT(reeve({"policy", "show", "--json"}).out, HasSubstr("\"unknown_tool\":\"require_approval\""));
}

}  // namespace
}  // namespace reeve
