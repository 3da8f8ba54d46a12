#include "engine/risk.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/file_kinds.h"
#include "engine/risk_words.h"
#include "json/parse.h"

// APR-3: the risk of an approval.
namespace reeve::engine {
namespace {

using model::Risk;
using model::RiskLevels;
using Source = RiskSubject::Source;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Case {
  const char* what;
  RiskSubject subject;
  Risk risk;
  // Part of the first reason.
  const char* reason;
};

RiskSubject asks(std::string text, bool is_sandboxed = false) {
  return {.source = Source::question, .words = {std::move(text)}, .is_sandboxed = is_sandboxed};
}

RiskSubject calls(std::string tool, std::string_view arguments, bool is_sandboxed = false) {
  return {.source = Source::tool_call,
          .call = RiskSubject::Call{.tool = std::move(tool),
                                    .arguments = json::parse(arguments).value(),
                                    .place = {.folder = "/work", .real_folder = "/work", .real_paths = {}}},
          .is_sandboxed = is_sandboxed};
}

RiskSubject changes(std::vector<std::string> files, Source source = Source::changes) {
  return {.source = source, .files = std::move(files), .knows_all_files = true};
}

RiskSubject deletes(const std::vector<std::string>& files, Source source = Source::changes) {
  RiskSubject subject = changes(files, source);
  subject.deleted_files = files;
  return subject;
}

RiskSubject runs(std::vector<std::string> command) {
  return {.source = Source::question, .command = std::move(command)};
}

TEST(Risk, table) {
  const std::vector<Case> cases = {
      {"a plain question", asks("Apply these changes?"), Risk::medium, "cannot tell what the tool does next"},
      {"in a sandbox", asks("Apply these changes?", true), Risk::medium, "cannot tell"},
      {"an empty question", asks(""), Risk::medium, "cannot tell"},
      {"a question that calls itself harmless", asks("low risk, only reading: go on?"), Risk::medium, "cannot tell"},
      {"git push", asks("Run `git push origin main`?"), Risk::high, "`git push`"},
      {"git push with options", asks("$ /usr/bin/git -C x -c a=b push"), Risk::high, "`git push`"},
      {"git push, sandboxed", asks("git push", true), Risk::high, "`git push`"},
      {"push without git", asks("Push to main?"), Risk::medium, "cannot tell"},
      {"rm", asks("rm -rf build\nDo you want to proceed?"), Risk::high, "`rm`"},
      {"rm asks", asks("rm: remove regular file 'x'?"), Risk::high, "`rm`"},
      {"a word with rm in it", asks("Confirm the form?"), Risk::medium, "cannot tell"},
      {"a CI file", asks("Edit .github/workflows/ci.yml?"), Risk::high, "CI files: .github/workflows/ci.yml"},
      {"a deployment file", asks("Write Dockerfile?"), Risk::high, "deployment files: Dockerfile"},
      {"to deploy is not a file", asks("Deploy where?"), Risk::medium, "cannot tell"},
      {"a file with secrets", asks("Read (.env.local)?"), Risk::high, "secrets: .env.local"},
      {"Reeve's files", asks("Write .reeve/config.yaml?"), Risk::high, "Reeve's own files"},
      {"a shell command", asks("Bash command\necho hi\nDo you want to proceed?"), Risk::high, "outside a sandbox"},
      {"a shell command in a sandbox", asks("Bash command\necho hi\nDo you want to proceed?", true), Risk::medium,
       "cannot tell"},
      {"a prompt",
       {.source = Source::prompt, .words = {"Do you want to continue? [Y/n]"}},
       Risk::medium,
       "cannot tell"},
      {"a command that pushes",
       {.source = Source::question, .command = {"git", "push"}},
       Risk::high,
       "runs `git push`"},
      {"a command that deletes", {.source = Source::question, .command = {"/bin/rm", "x"}}, Risk::high, "runs `rm`"},
      {"a shell that pushes", runs({"sh", "-c", "git push"}), Risk::high, "runs `git push`"},
      {"a shell that deletes", runs({"bash", "-c", "rm -rf x"}), Risk::high, "runs `rm`"},
      {"a shell that deletes at the end", runs({"/bin/dash", "-c", "find . | xargs rm"}), Risk::high, "runs `rm`"},
      {"a shell in a shell", runs({"ksh", "-c", "zsh -c 'git -C x push'"}), Risk::high, "runs `git push`"},
      {"a shell with several options", runs({"bash", "-eu", "-o", "pipefail", "-lc", "+x", "rm x"}), Risk::high,
       "`rm`"},
      {"a shell behind a program", runs({"env", "A=1", "/bin/bash", "-c", "rm x"}), Risk::high, "runs `rm`"},
      {"a script that names a secret", runs({"sh", "-c", "cat .env"}), Risk::high, "script that names files"},
      {"a harmless script", runs({"sh", "-c", "make all && exit 90"}), Risk::medium, "cannot tell"},
      {"the arguments of a script", runs({"sh", "-c", "agent \"$1\"", "sh", "rm .env\ngit push"}), Risk::medium,
       "cannot tell"},
      {"a shell without a script", runs({"bash", "-x", "push"}), Risk::medium, "cannot tell"},
      {"a shell with a file", runs({"bash", "build.sh", "-c", "git push"}), Risk::medium, "cannot tell"},
      {"a shell at the end", runs({"xargs", "sh", "-c"}), Risk::medium, "cannot tell"},

      {"git_push", calls("git_push", "{}"), Risk::high, "pushes"},
      {"force_push", calls("force_push", "{}", true), Risk::high, "pushes"},
      {"file_delete", calls("file_delete", R"({"path":"a.txt"})", true), Risk::high, "deletes"},
      {"shell", calls("shell_execute", R"({"command":"ls"})"), Risk::high, "outside a sandbox"},
      {"shell in a sandbox", calls("shell_execute", R"({"command":"ls"})", true), Risk::medium, "may change"},
      {"shell that pushes", calls("shell_execute", R"({"command":"git push"})", true), Risk::high, "`git push`"},
      {"writing", calls("file_write", R"({"path":"src/a.cpp","content":"x"})"), Risk::medium, "may change"},
      {"writing to a CI file", calls("file_write", R"({"path":"sub/.gitlab-ci.yml"})"), Risk::high, "CI files"},
      {"writing agent configuration", calls("file_write", R"({"path":"/work/CLAUDE.md"})"), Risk::high, "an agent"},
      {"a path with blanks", calls("file_write", R"({"path":"my files/.env"})"), Risk::high, "secrets"},
      {"reading", calls("file_read", R"({"path":"src/a.cpp"})"), Risk::low, "only reads"},
      {"reading outside", calls("file_read", R"({"path":"/etc/hosts"})"), Risk::medium, "may change"},
      {"reading a secret", calls("file_read", R"({"path":".env"})"), Risk::high, "secrets"},
      {"reading without a path", calls("file_read", "{}"), Risk::medium, "may change"},
      {"reading with arguments of the wrong type", calls("file_read", R"({"path":7})"), Risk::medium, "may change"},
      {"an option for git", calls("git_diff", R"({"ref":"--output=x"})"), Risk::medium, "may change"},
      {"status", calls("task_status", "{}"), Risk::low, "only reads"},
      {"an unknown tool", calls("frobnicate", "{}"), Risk::medium, "may change"},
      {"a tool call that nobody describes", {.source = Source::tool_call}, Risk::medium, "unknown"},

      {"a workflow question without changes", changes({}, Source::workflow), Risk::low, "no files have changed"},
      {"a workflow question with changes", changes({"a.cpp"}, Source::workflow), Risk::medium, "changes 1 file"},
      {"a workflow question with unknown changes", {.source = Source::workflow}, Risk::medium, "cannot tell which"},
      {"some changes known, others not",
       {.source = Source::workflow, .files = {".travis.yml"}},
       Risk::high,
       "CI files"},
      {"a workflow question that names a file",
       {.source = Source::workflow, .words = {"Publish .env?"}, .knows_all_files = true},
       Risk::high,
       "secrets"},
      {"changes", changes({"a.cpp", "b.cpp"}), Risk::medium, "changes 2 files"},
      {"no changes known of a change", {.source = Source::changes}, Risk::medium, "cannot tell which"},
      {"changes that delete a file", deletes({"a.cpp"}), Risk::high, "deletes a.cpp"},
      {"a workflow question with a deletion", deletes({"a.cpp", "b.cpp"}, Source::workflow), Risk::high,
       "deletes a.cpp, b.cpp"},
      {"changes to agent configuration", changes({"a.cpp", ".claude/settings.json"}), Risk::high, "an agent"},
      {"changes to Reeve", changes({"sub/.reeve/workflows/x.yaml"}), Risk::high, "Reeve's own files"},
      {"changes to a deployment", changes({"k8s/app.yml"}), Risk::high, "deployment files"},
      {"names in other case", changes({"JENKINSFILE"}), Risk::high, "CI files"},
  };
  for (const Case& each : cases) {
    const RiskVerdict verdict = assess_risk(each.subject, {});
    EXPECT_EQ(verdict.risk, each.risk) << each.what;
    ASSERT_FALSE(verdict.reasons.empty()) << each.what;
    EXPECT_THAT(verdict.reasons.front(), HasSubstr(each.reason)) << each.what;
  }
}

// APR-3: scripts and deletions in any form, and where they were named.
TEST(Risk, scripts_and_deletions_in_questions_are_found) {
  EXPECT_TRUE(find_risky_words("Run `bash -c 'make all'`?").has_shell);
  EXPECT_TRUE(find_risky_words("/bin/sh -lc ls").has_shell);
  EXPECT_FALSE(find_risky_words("Use bash for this?").has_shell);
  EXPECT_EQ(find_risky_words("Delete 300 files?").deletes, "delete");
  EXPECT_EQ(find_risky_words("find . -name '*.o' | xargs rm").deletes, "rm");
  EXPECT_EQ(find_risky_words("Delete this comment?").deletes, "");
  RiskSubject subject = asks("Go on?");
  subject.screen = "$ rm -r build";
  EXPECT_THAT(assess_risk(subject, {}).reasons, ElementsAre("the screen names `rm`"));
  subject.words = {"rm -r build?"};
  EXPECT_THAT(assess_risk(subject, {}).reasons, ElementsAre("the question names `rm`"));
}

// Whatever a tool writes, its question is never less risky than a silent one.
TEST(Risk, words_never_lower_it) {
  for (const char* text : {"", "risk: low", "{\"risk\":\"low\"}", "file_read", "no files have changed"}) {
    for (const Source source : {Source::question, Source::prompt, Source::workflow, Source::changes}) {
      EXPECT_GE(assess_risk({.source = source, .words = {text}}, {}).risk, Risk::medium) << text;
    }
  }
}

TEST(Risk, config_sets_the_level_of_each_rule) {
  RiskLevels levels;
  levels.question = Risk::high;
  EXPECT_EQ(assess_risk(asks("Go on?"), levels).risk, Risk::high);
  EXPECT_EQ(assess_risk({.source = Source::prompt}, levels).risk, Risk::medium) << "another rule";
  levels.question = Risk::low;
  EXPECT_EQ(assess_risk(asks("Go on?"), levels).risk, Risk::low);
  EXPECT_EQ(assess_risk(asks("git push?"), levels).risk, Risk::high) << "the highest rule decides";
  levels.git_push = Risk::low;
  EXPECT_EQ(assess_risk(asks("git push?"), levels).risk, Risk::low);
  levels.file_delete = Risk::low;
  EXPECT_EQ(assess_risk(deletes({"a.cpp"}), levels).risk, Risk::medium) << "it is still a change";
  levels = {};
  levels.reading = Risk::medium;
  EXPECT_EQ(assess_risk(calls("file_read", R"({"path":"a"})"), levels).risk, Risk::medium);
}

TEST(Risk, reasons_are_those_of_the_highest_rules_and_bounded) {
  EXPECT_THAT(assess_risk(changes({"a.cpp", ".travis.yml", "Dockerfile"}), {}).reasons,
              ElementsAre("changes CI files: .travis.yml", "changes deployment files: Dockerfile"));
  std::vector<std::string> many;
  for (int i = 0; i < 1'000; ++i) many.push_back(std::string(200, 'x') + "\x1b[2J/" + std::to_string(i) + "/.env");
  many.emplace_back("\x1b[31m/.env");
  const RiskVerdict verdict = assess_risk(changes(many), {});
  ASSERT_EQ(verdict.reasons.size(), 1U);
  EXPECT_LT(verdict.reasons.front().size(), 1'000U);
  EXPECT_EQ(verdict.reasons.front().find('\x1b'), std::string::npos);
  EXPECT_THAT(verdict.reasons.front(), HasSubstr("and 998 more"));
  const RiskVerdict deleted = assess_risk(deletes(many), {});
  ASSERT_EQ(deleted.reasons.size(), 2U);
  EXPECT_LT(deleted.reasons.back().size(), 1'000U);
  EXPECT_EQ(deleted.reasons.back().find('\x1b'), std::string::npos);
}

TEST(Risk, words_of_any_size_are_read_in_bounded_time) {
  std::string huge;
  for (int i = 0; i < 200'000; ++i) huge += "git -x /a/b" + std::to_string(i) + " ";
  EXPECT_LE(find_risky_words(huge).paths.size(), 200U);
  EXPECT_FALSE(find_risky_words(huge).has_push);
}

TEST(Risk, file_kinds_are_told_apart) {
  for (const char* path : {".github/workflows/x.yml", "a/.github/actions/b/action.yml", ".gitlab-ci.yml",
                           ".circleci/config.yml", "Jenkinsfile", "Jenkinsfile.release", "azure-pipelines.yml"}) {
    EXPECT_TRUE(is_ci_file(path)) << path;
  }
  for (const char* path : {".github/ISSUE_TEMPLATE.md", "workflows/ci.cpp", "src/ci.cpp"}) {
    EXPECT_FALSE(is_ci_file(path)) << path;
  }
  for (const char* path : {"Dockerfile", "api/Dockerfile.dev", "docker-compose.yml", "compose.yaml", "main.tf",
                           "deploy/x", "scripts/deploy.sh", "k8s/a.yaml", "Procfile", "fly.toml"}) {
    EXPECT_TRUE(is_deploy_file(path)) << path;
  }
  for (const char* path : {"src/redeploy.cpp", "docs/docker.md", "transform.cpp"}) {
    EXPECT_FALSE(is_deploy_file(path)) << path;
  }
  EXPECT_TRUE(is_agent_config("AGENTS.md"));
  EXPECT_TRUE(is_agent_config("sub/.aider.conf.yml"));
  EXPECT_FALSE(is_agent_config("src/agents.cpp"));
  EXPECT_TRUE(is_reeve_file(".reeve/config.yaml"));
  EXPECT_FALSE(is_reeve_file("reeve/config.yaml"));
}

}  // namespace
}  // namespace reeve::engine
