#include <filesystem>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Standing grants (TOOL-8): `approve --always`, what it covers, and what it never covers; rules from what was approved.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class ToolCallGrants : public testing::ToolCallsTest {
 protected:
  ToolCallGrants() {
    configure(config());
    make_repository();
  }
  static std::string config(const std::string& rules = {}) {
    return "tools:\n"
           "  agent: {command: [/bin/sh, -c], resume: live}\n"
           "  other: {command: [/bin/sh, -c], resume: live}\n"
           "policies: {tools: {probe: auto_approve" +
           rules + "}}\n";
  }

  // An agent that makes these calls one after the other and leaves no call waiting at its end.
  struct Asked {
    std::string tool;
    std::string arguments;
  };
  static std::string make_calls(const std::vector<Asked>& calls) {
    std::string script;
    int number = 0;
    for (const Asked& call : calls) {
      script += fmt::format("act c{} {} {} --once\n", ++number, call.tool, quoted(call.arguments));
    }
    return script;
  }
  // Shell: a call, whose grant is made while it waits, then these calls.
  static std::string first_then(const Asked& first, const std::vector<Asked>& calls) {
    return "act first " + first.tool + " " + quoted(first.arguments) + "\n" + make_calls(calls);
  }
  // The decisions of the rules about c1, c2, …
  std::vector<std::string> decisions(const std::string& run) const {
    std::vector<std::string> all;
    for (Members& call : calls_of(run)) {
      if (call["native_id"] != "first") all.push_back(call["decision"]);
    }
    return all;
  }
  // Answers the first call with a grant; the decisions about the calls after it.
  std::vector<std::string> decisions_after(const Asked& first, const Words& grant,
                                           const std::vector<Asked>& calls) const {
    const std::string run = begin(first_then(first, calls));
    const Outcome made = approve(wait_for_question(run), grant);
    EXPECT_EQ(made.code, 0) << made.err;
    expect_completed(run);
    return decisions(run);
  }
  static Asked shell(const std::string& argv) {
    return {.tool = "shell_execute", .arguments = "{\"argv\":" + argv + "}"};
  }
  static Asked text(const std::string& command) {
    return {.tool = "shell_execute", .arguments = "{\"command\":\"" + command + "\"}"};
  }
  static Asked write(const std::string& path) {
    return {.tool = "file_write", .arguments = fmt::format(R"({{"path":"{}","content":"x"}})", path)};
  }
};

TEST_F(ToolCallGrants, grant_covers_exactly_this_call_in_this_run) {
  const Asked call{.tool = "ask_me", .arguments = R"({"n":1})"};
  EXPECT_THAT(
      decisions_after(
          call, {"--always"},
          {call, {.tool = "ask_me", .arguments = R"({"n":2})"}, {.tool = "ask_you", .arguments = R"({"n":1})"}}),
      ElementsAre("allow", "ask", "ask"));
  EXPECT_THAT(executed(), ElementsAre("c1", "first"));
  Members granted = call_of("TR-1", "c1");
  EXPECT_EQ(granted["rule"], "GR-1");
  EXPECT_EQ(granted["grant_id"], "GR-1");
  EXPECT_THAT(reeve({"policy", "grants", "--all"}).out,
              AllOf(HasSubstr("GR-1\t"), HasSubstr("\tactive\tTR-1\tagent\task_me\texact\t")));
  EXPECT_EQ(show("GR-1")["uses"], "1");
  // TOOL-8: another run of the same agent asks.
  const std::string next = begin(make_calls({call}));
  expect_completed(next);
  EXPECT_THAT(decisions(next), ElementsAre("ask"));
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("GR-1"));
  expect_audit_intact();
}

TEST_F(ToolCallGrants, grant_by_program_covers_its_subcommand_with_any_arguments) {
  EXPECT_THAT(
      decisions_after(shell(R"(["git","status"])"), {"--always", "--match", "program"},
                      {shell(R"(["git","status","-s"])"), text("git status --short"), shell(R"(["git","push"])"),
                       shell(R"(["git"])"), shell(R"(["git","-c","a.b=c","status"])"), text("git status; true"),
                       text("git status > file"), text("X=1 git status"), shell(R"(["./git","status"])")}),
      ElementsAre("allow", "allow", "ask", "ask", "ask", "ask", "ask", "ask", "ask"));
}

// TOOL-8: an agent that may write files makes a repository, whose settings would run its program.
TEST_F(ToolCallGrants, git_in_a_repository_that_the_agent_made_asks) {
  for (const char* file : {"src/x/HEAD", "src/x/config", "src/x/objects/k", "src/x/refs/k"}) {
    scratch().write(fs::path("project") / file, "x");
  }
  configure(config(", shell_execute: {policy: auto_approve, when: {program: git status}}"));
  const std::string nested = (project() / "src/x").string();
  const std::string run = begin(make_calls(
      {text("git status"), {.tool = "Bash", .arguments = R"({"command":"git status","cwd":")" + nested + "\"}"}}));
  expect_completed(run);
  EXPECT_THAT(decisions(run), ElementsAre("allow", "ask"));
  EXPECT_THAT(executed(), ElementsAre("c1"));
}

// What an exact grant does not bind is shown, and confirmed.
TEST_F(ToolCallGrants, exact_grant_of_a_script_needs_its_confirmation) {
  scratch().write("project/x.sh", "true\n");
  const std::string run = begin(first_then(shell(R"(["sh","x.sh"])"), {}));
  const std::string question = wait_for_question(run);
  EXPECT_NE(reeve({"approve", question, "--always"}).code, 0);
  EXPECT_THAT(request("POST", "/api/approvals/" + question + "/grant-preview", "{}"),
              HasSubstr("whatever `x.sh` contains later"));
  EXPECT_EQ(reeve({"policy", "grants", "--all"}).out, "");
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
}

// The agent puts its own program in front.
TEST_F(ToolCallGrants, grant_by_program_does_not_cover_another_program_of_that_name) {
  scratch().write("project/bin/git", "#!/bin/sh\n");
  ::chmod((project() / "bin/git").c_str(), 0755);
  EXPECT_THAT(decisions_after(shell(R"(["git","status"])"), {"--always", "--match", "program"},
                              {shell("[\"" + (project() / "bin/git").string() + "\",\"status\"]"),
                               shell(R"(["/usr/bin/git","status"])")}),
              ElementsAre("ask", "allow"));
}

TEST_F(ToolCallGrants, grant_by_path_covers_files_that_match_after_resolution) {
  for (const char* folder : {"src", "docs"}) fs::create_directory(project() / folder);
  fs::create_symlink("../docs", project() / "src/link");
  fs::create_symlink("/", project() / "src/root");
  EXPECT_THAT(
      decisions_after(write("src/a"), {"--always", "--match", "path=src/**"},
                      {write("src/b"), write("src/deep/c"), write((project() / "src/d").string()), write("docs/a"),
                       write("src/../docs/a"), write("src/link/a"), write("src/root/etc/x"), write("../src/a")}),
      ElementsAre("allow", "allow", "allow", "ask", "ask", "ask", "ask", "ask"));
}

// TOOL-8: at a terminal, what a grant allows besides is shown and asked about; anything but a yes decides nothing.
TEST_F(ToolCallGrants, wider_grant_is_confirmed_at_the_terminal) {
  const std::string run = begin(first_then(shell(R"(["git","status"])"), {shell(R"(["git","status","-s"])")}));
  const std::string question = wait_for_question(run);
  // The approval itself is of high risk and confirmed first.
  const auto answer = [&](const std::string& typed) {
    auto session = start({"approve", question, "--always", "--match", "program"}, testing::Session::Ends::terminal);
    EXPECT_TRUE(session->wait_for("to confirm:"));
    session->type(question + "\n");
    EXPECT_TRUE(session->wait_for("this also allows:"));
    EXPECT_TRUE(session->wait_for("Grant this until "));
    EXPECT_TRUE(session->wait_for("[y/N]"));
    session->type(typed);
    return session->wait();
  };
  for (const char* no : {"n\n", "\n", "\x04", "perhaps\n"}) {
    EXPECT_EQ(answer(no), 130) << no;
    EXPECT_EQ(show(question)["status"], "pending");
    EXPECT_EQ(reeve({"policy", "grants", "--all"}).out, "");
  }
  EXPECT_EQ(answer("y\n"), 0);
  expect_completed(run);
  EXPECT_THAT(decisions(run), ElementsAre("allow"));
  EXPECT_THAT(reeve({"policy", "grants"}).out, HasSubstr("GR-1\t"));
}

// What nobody can bound by the program's name.
TEST_F(ToolCallGrants, grants_of_interpreters_and_starters_are_refused) {
  scratch().write("project/tool", "#!/bin/sh\n");
  ::chmod((project() / "tool").c_str(), 0755);
  for (const Asked& call :
       {shell(R"(["python3","x.py"])"), shell(R"(["/bin/sh","-c","ls"])"), shell(R"(["env","ls"])"),
        shell(R"(["xargs","ls"])"), shell(R"(["find",".","-exec","rm","{}",";"])"),
        shell(R"(["git","-c","core.pager=sh","log"])"), shell(R"(["./tool"])"), shell(R"(["no-such-program"])"),
        text("ls | wc"), text("$(ls)"), Asked{.tool = "ask_me", .arguments = "{}"}}) {
    SCOPED_TRACE(call.arguments);
    const std::string run = begin(first_then(call, {}));
    const std::string question = wait_for_question(run);
    const Outcome outcome = approve(question, {"--always", "--match", "program"});
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(show(question)["status"], "pending");
    EXPECT_EQ(reject(question).code, 0);
    expect_completed(run);
  }
  EXPECT_EQ(reeve({"policy", "grants", "--all"}).out, "");
}

// The person sees what else a wide grant allows, and confirms it.
TEST_F(ToolCallGrants, wide_grant_needs_its_confirmation) {
  const std::string run = begin(first_then(shell(R"(["git","status"])"), {}));
  const std::string question = wait_for_question(run);
  // Who only says yes to the call has not seen the grant.
  EXPECT_NE(reeve({"approve", question, "--always", "--match", "program", "--yes"}).code, 0);
  EXPECT_THAT(request("POST", "/api/approvals/" + question + "/grant-preview", R"({"match":"program"})"),
              AllOf(HasSubstr("also_allows"), HasSubstr("git status")));
  EXPECT_EQ(reeve({"policy", "grants", "--all"}).out, "");
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
}

TEST_F(ToolCallGrants, grant_for_the_project_covers_its_next_runs_of_the_same_agent) {
  const Asked call{.tool = "ask_me", .arguments = "{}"};
  decisions_after(call, {"--always", "--for", "project"}, {});
  const std::string next = begin(make_calls({call}));
  expect_completed(next);
  EXPECT_THAT(decisions(next), ElementsAre("allow"));
  const std::string other = begin(make_calls({call}), "other");
  expect_completed(other);
  EXPECT_THAT(decisions(other), ElementsAre("ask"));
}

TEST_F(ToolCallGrants, grant_outside_an_execution_cannot_be_for_one) {
  const std::string run = begin(first_then({.tool = "ask_me", .arguments = "{}"}, {}));
  const std::string question = wait_for_question(run);
  EXPECT_EQ(approve(question, {"--always", "--for", "execution"}).code, 2);
  EXPECT_EQ(show(question)["status"], "pending");
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(run);
}

TEST_F(ToolCallGrants, expired_grant_covers_nothing) {
  const Asked call{.tool = "ask_me", .arguments = "{}"};
  decisions_after(call, {"--always", "--for", "project", "--expires", "1s"}, {});
  EXPECT_TRUE(testing::eventually([&] { return reeve({"policy", "grants"}).out.empty(); }));
  EXPECT_THAT(reeve({"policy", "grants", "--all"}).out, HasSubstr("\texpired\t"));
  const std::string next = begin(make_calls({call}));
  expect_completed(next);
  EXPECT_THAT(decisions(next), ElementsAre("ask"));
}

TEST_F(ToolCallGrants, revoked_grant_covers_nothing) {
  const Asked call{.tool = "ask_me", .arguments = "{}"};
  const std::string run = begin(first_then(call, {call}) + "wait_file go; act c2 ask_me '{}' --once");
  EXPECT_EQ(approve(wait_for_question(run), {"--always"}).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return decisions(run).size() == 1; }));
  EXPECT_EQ(reeve({"policy", "revoke", "GR-1"}).code, 0);
  EXPECT_EQ(reeve({"policy", "revoke", "GR-1"}).code, 0) << "it stays as it is";
  EXPECT_EQ(reeve({"policy", "revoke", "GR-9"}).code, 3);
  let("go");
  expect_completed(run);
  EXPECT_THAT(decisions(run), ElementsAre("allow", "ask"));
  EXPECT_EQ(reeve({"policy", "grants"}).out, "");
  EXPECT_THAT(reeve({"policy", "grants", "--all"}).out, HasSubstr("\trevoked\t"));
  expect_audit_intact();
}

// TOOL-8: whichever was first.
TEST_F(ToolCallGrants, grant_never_overrides_a_deny) {
  const Asked call{.tool = "ask_me", .arguments = "{}"};
  decisions_after(call, {"--always", "--for", "project"}, {});
  decisions_after(shell(R"(["git","status"])"), {"--always", "--for", "project", "--match", "program"}, {});
  configure(config(", ask_me: deny, shell_execute: {policy: deny, when: {argv: [[git, status, -s]]}}"));
  const std::string next =
      begin(make_calls({call, shell(R"(["git","status","-s"])"), shell(R"(["git","status","-b"])")}));
  expect_completed(next);
  EXPECT_THAT(decisions(next), ElementsAre("deny", "deny", "allow"));
}

TEST_F(ToolCallGrants, grant_survives_a_crash_of_the_daemon) {
  const Asked call{.tool = "ask_me", .arguments = "{}"};
  const std::string run = begin("act first ask_me '{}'; wait_file go\n" + make_calls({call}));
  EXPECT_EQ(approve(wait_for_question(run), {"--always"}).code, 0);
  kill_daemon();
  let("go");
  expect_completed(run);
  EXPECT_THAT(decisions(run), ElementsAre("allow"));
}

// Questions about exactly the same call are one decision.
TEST_F(ToolCallGrants, equal_questions_are_decided_together) {
  const std::string run =
      begin("for i in 1 2 3; do act c$i ask_me '{\"n\":1}' & done; act other ask_me '{\"n\":2}' & wait");
  const std::vector<Members> waiting = wait_for_waiting(run, 4);
  std::string question;
  std::string different;
  for (const Members& call : waiting) (call.at("native_id") == "other" ? different : question) = call.at("approval_id");
  EXPECT_EQ(approve(question, {"--equal"}).code, 0);
  EXPECT_EQ(show(different)["status"], "pending");
  EXPECT_EQ(reject(different).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("c1", "c2", "c3"));
}

TEST_F(ToolCallGrants, rules_are_suggested_from_what_was_approved) {
  const std::string run = begin(
      "act c1 shell_execute '{\"argv\":[\"git\",\"status\"]}'; act c2 shell_execute "
      "'{\"argv\":[\"git\",\"status\",\"-s\"]}'\n"
      "act c3 shell_execute '{\"argv\":[\"ls\",\"-l\"]}'; act c4 shell_execute '{\"argv\":[\"python3\",\"x\"]}'\n"
      "act c5 shell_execute '{\"argv\":[\"du\"]}'");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  EXPECT_EQ(reject(wait_for_question(run)).code, 0);
  expect_completed(run);
  const std::string suggested = reeve({"policy", "suggest"}).out;
  EXPECT_THAT(suggested, AllOf(HasSubstr(R"({policy: auto_approve, when: {program: "git status"}})"),
                               HasSubstr(R"({policy: auto_approve, when: {argv: ["ls","-l"]}})"),
                               Not(HasSubstr("python")), Not(HasSubstr("du"))));
  // It is a part of a config.
  configure("tools:\n  agent: {command: [/bin/sh, -c], resume: live}\n" + suggested);
  const std::string next =
      begin(make_calls({shell(R"(["git","status","-b"])"), shell(R"(["ls","-l"])"), shell(R"(["ls"])")}));
  expect_completed(next);
  EXPECT_THAT(decisions(next), ElementsAre("allow", "allow", "ask"));
}

TEST_F(ToolCallGrants, table_of_calls_is_tested_against_the_rules) {
  scratch().write("project/calls.yaml",
                  "- {tool: probe, expect: auto_approve}\n"
                  "- {tool: ask_me, arguments: {n: 1}, expect: require_approval}\n"
                  "- {tool: file_read, arguments: {path: ../x}, expect: require_approval}\n"
                  "- {tool: file_delete, arguments: {path: a}, expect: deny}\n");
  const Outcome good = reeve({"policy", "test", "calls.yaml"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_EQ(testing::count_of(good.out, "ok\t"), 4);
  scratch().write("project/calls.yaml", "- {tool: ask_me, expect: auto_approve}\n");
  const Outcome differs = reeve({"policy", "test", "calls.yaml"});
  EXPECT_EQ(differs.code, 1);
  EXPECT_THAT(differs.out, HasSubstr("differs\t1\task_me\t"));
  EXPECT_EQ(reeve({"calls"}).out, "") << "nothing was asked";
}

}  // namespace
}  // namespace reeve
