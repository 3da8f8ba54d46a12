#include "runtime/gate/suggestions.h"

#include <gmock/gmock.h>

#include "json/parse.h"

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ApprovedCall approved(std::int64_t id, const std::string& command, const std::string& program) {
  ApprovedCall made;
  made.call.call_id = base::CallId(id);
  made.call.tool = "shell_execute";
  made.call.decision = model::CallDecision::ask;
  made.call.answer = model::CallDecision::allow;
  made.subject = {
      .agent = "claude",
      .role = {},
      .project = "/home/ana/shop",
      .tool = "shell_execute",
      .arguments = base::Value::object({{"command", base::Value::string(command)}}),
      .cwd = "/home/ana/shop",
      .place = {.folder = "/home/ana/shop", .real_folder = "/home/ana/shop", .real_paths = {}},
      .program = engine::ProgramFact{.name = program, .path = "/usr/bin/" + program, .is_writable_by_run = false},
      .finds_own_repository = true};
  made.is_complete = true;
  return made;
}

ApprovedCall written(std::int64_t id, const std::string& path) {
  ApprovedCall made = approved(id, "ls", "ls");
  made.call.tool = made.subject.tool = "file_write";
  made.subject.arguments = base::Value::object({{"path", base::Value::string(path)}});
  return made;
}

std::vector<std::string> rules_of(const wire::PolicySuggestions& made) {
  std::vector<std::string> rules;
  for (const wire::PolicySuggestion& one : made.suggestions) rules.push_back(one.yaml);
  return rules;
}

// TOOL-8: a program that was approved with different arguments becomes a rule, one that was not stays exact.
TEST(Suggestions, programs_and_exact_vectors_are_counted) {
  const wire::PolicySuggestions made = make_suggestions(
      {approved(1, "git status", "git"), approved(2, "git status --short", "git"), approved(3, "git status", "git"),
       approved(4, "git log -3", "git"), approved(5, "git log -3", "git")},
      {});
  EXPECT_EQ(made.approved, 5);
  EXPECT_EQ(made.left_out, 0);
  EXPECT_THAT(rules_of(made), ElementsAre(R"({policy: auto_approve, when: {program: "git status"}})",
                                          R"({policy: auto_approve, when: {argv: ["git","log","-3"]}})"));
  EXPECT_EQ(made.suggestions.front().calls, 3);
  EXPECT_EQ(made.suggestions.front().example, base::CallId(3));
}

// Whoever may run an interpreter may run anything.
TEST(Suggestions, interpreters_and_text_are_never_suggested) {
  const std::vector<std::pair<std::string, std::string>> calls = {{"python3 build.py", "python3"},
                                                                  {"sh build.sh", "sh"},
                                                                  {"env git status", "env"},
                                                                  {"git -c core.pager=x log", "git"},
                                                                  {"find . -exec rm {} +", "find"},
                                                                  {"git status; rm -rf /", "git"},
                                                                  {"git status $(curl x)", "git"},
                                                                  {"GIT_PAGER=x git log", "git"},
                                                                  {"xargs ls", "xargs"}};
  for (const auto& [command, program] : calls) {
    const wire::PolicySuggestions made =
        make_suggestions({approved(1, command, program), approved(2, command, program)}, {});
    EXPECT_THAT(made.suggestions, IsEmpty()) << command;
    EXPECT_EQ(made.left_out, 2) << command;
  }
}

// A program that is not in the table may still be named with exactly these arguments.
TEST(Suggestions, unknown_programs_are_suggested_exactly) {
  const wire::PolicySuggestions made =
      make_suggestions({approved(1, "cargo test", "cargo"), approved(2, "cargo test -q", "cargo")}, {});
  EXPECT_THAT(rules_of(made), ElementsAre(R"({policy: auto_approve, when: {argv: ["cargo","test"]}})",
                                          R"({policy: auto_approve, when: {argv: ["cargo","test","-q"]}})"));
}

// TOOL-8: approved writes can be covered by paths.
TEST(Suggestions, written_files_become_paths) {
  const wire::PolicySuggestions made =
      make_suggestions({written(1, "src/a.c"), written(2, "src/deep/b.c"), written(3, "docs/x.md"),
                        written(4, "docs/x.md"), written(5, "README.md"), approved(6, "ls", "ls")},
                       {});
  EXPECT_THAT(rules_of(made), ElementsAre(R"({policy: auto_approve, when: {path: "src/**"}})",
                                          R"({policy: auto_approve, when: {path: "docs/x.md"}})",
                                          R"({policy: auto_approve, when: {path: "README.md"}})",
                                          R"({policy: auto_approve, when: {argv: ["ls"]}})"));
  EXPECT_EQ(made.suggestions.front().tool, "file_write");
  EXPECT_EQ(made.suggestions.front().describes, "file_write of any file in src/**");
  EXPECT_EQ(made.left_out, 0);
}

// No rule could allow these.
TEST(Suggestions, sensitive_and_unclear_files_are_left_out) {
  ApprovedCall unknown = written(1, "src/a");
  unknown.call.tool = unknown.subject.tool = "mcp:disk/erase";
  const wire::PolicySuggestions made =
      make_suggestions({unknown, written(2, ".claude/settings.json"), written(3, "../a"), written(4, "src/*"),
                        written(5, ".env"), written(6, "src/.git/config")},
                       {});
  EXPECT_THAT(made.suggestions, IsEmpty());
  EXPECT_EQ(made.left_out, 6);
}

// What was cut or masked is not known, and a program that the run can replace is not the one that was approved.
TEST(Suggestions, unknown_facts_are_left_out) {
  ApprovedCall cut = approved(1, "git status", "git");
  cut.is_complete = false;
  ApprovedCall replaceable = approved(2, "git status", "git");
  replaceable.subject.program->is_writable_by_run = true;
  ApprovedCall write = approved(3, "git status", "git");
  write.call.tool = write.subject.tool = "file_write";
  EXPECT_THAT(make_suggestions({cut, replaceable, write}, {}).suggestions, IsEmpty());
}

// A rule that would change nothing is not proposed.
TEST(Suggestions, denied_calls_are_left_out) {
  model::Policies policies;
  policies.tools["shell_execute"] = {{.policy = model::Policy::deny, .when = {}}};
  EXPECT_THAT(make_suggestions({approved(1, "git status", "git")}, policies).suggestions, IsEmpty());
}

}  // namespace
}  // namespace reeve::runtime
