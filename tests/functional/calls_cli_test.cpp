#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/port.h"

// What people see of tool calls, and the grants that they make from them (TOOL-7, TOOL-8).
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::body_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Port;
using ::testing::StartsWith;
using testing::status_of;

// Shell: `ask NAME COMMAND` makes a call and prints its id; `answer ID` waits and prints what was decided.
constexpr const char* functions =
    R"(ask() { curl -s --unix-socket "$REEVE_SOCKET" --json "{\"call\":\"$1\",\"tool\":\"shell_execute\",\"arguments\":{\"command\":\"$2\"}}" http://x/api/tool-calls | grep -o 'TC-[0-9]*' | head -n 1; }
answer() { curl -s --unix-socket "$REEVE_SOCKET" "http://x/api/tool-calls/$1/wait?timeout=60s"; echo; }
)";

class CallsCli : public testing::PortTest {
 protected:
  // In a repository: git is not granted elsewhere.
  CallsCli() {
    scratch().write("project/.git/HEAD", "ref: refs/heads/main\n");
    for (const char* folder : {"objects", "refs"}) std::filesystem::create_directories(project() / ".git" / folder);
  }
  // Starts a run that makes these calls; returns when one of them waits.
  void start_agent(const std::string& run, const std::string& script) const {
    ASSERT_EQ(reeve({"run", "--detach", "--", "/bin/sh", "-c", functions + script}).out, run + "\n");
    wait_for_status(run, "waiting_approval");
  }
  static std::string one_call() { return "answer $(ask c1 'git status --short')"; }
};

TEST_F(CallsCli, calls_are_listed_and_shown) {
  start_agent("TR-1", one_call());
  EXPECT_THAT(reeve({"calls"}).out,
              AllOf(StartsWith("TC-1\tTR-1\t"), HasSubstr("\tshell_execute\tgit status --short\task\t"),
                    HasSubstr("\twaiting\t" + project().string() + "\n")));
  EXPECT_EQ(reeve({"calls", "TR-1"}).out, reeve({"calls", "--run", "tr-1"}).out);
  EXPECT_THAT(reeve({"show", "TC-1"}).out, AllOf(HasSubstr("approval_id\tAP-1\n"), HasSubstr("tool_run_id\tTR-1\n")));
  EXPECT_THAT(reeve({"show", "TR-1", "--calls"}).out,
              HasSubstr("call\tTC-1 waiting shell_execute git status --short\n"));
  EXPECT_THAT(reeve({"approvals"}).out, AllOf(StartsWith("AP-1\tpending\t"), HasSubstr("git status --short")));
  EXPECT_THAT(reeve({"show", "AP-1"}).out, HasSubstr("git status --short"));
  EXPECT_EQ(reeve({"reject", "AP-1", "--comment", "not now"}).code, 0);
  finish("TR-1");
  EXPECT_THAT(logs("TR-1"), AllOf(HasSubstr("\"deny\""), HasSubstr("not now")));
  EXPECT_EQ(reeve({"show", "TC-9"}).code, 3);
  EXPECT_EQ(reeve({"calls", "TR-9"}).code, 3);
  EXPECT_EQ(reeve({"calls", "TR-1", "--run", "TR-1"}).code, 2);
  EXPECT_EQ(reeve({"calls", "TR-1", "--here"}).code, 2);
}

// TOOL-8: by default this run, exactly this call; the next equal call is not asked about.
TEST_F(CallsCli, grant_allows_equal_calls_until_it_is_revoked) {
  start_agent("TR-1", "answer $(ask c1 'git status'); answer $(ask c2 'git status'); answer $(ask c3 'git status -s')");
  const Outcome approved = reeve({"approve", "AP-1", "--always", "--confirm=AP-1"});
  ASSERT_EQ(approved.code, 0) << approved.err;
  EXPECT_THAT(approved.err, HasSubstr("GR-1 allows from now on: "));
  EXPECT_TRUE(testing::eventually([&] { return sql("SELECT count(*) FROM tool_calls") == "3"; }));
  EXPECT_EQ(sql("SELECT native_id, decision, rule FROM tool_calls WHERE decision = 'allow'"), "c2\tallow\tGR-1");
  EXPECT_THAT(reeve({"policy", "grants"}).out, StartsWith("GR-1\tactive\tTR-1\t"));
  EXPECT_THAT(reeve({"show", "GR-1"}).out, HasSubstr("match\texact\n"));
  EXPECT_EQ(reeve({"policy", "revoke", "GR-1", "GR-7"}).code, 3);
  EXPECT_EQ(reeve({"policy", "grants"}).out, "");
  EXPECT_THAT(reeve({"policy", "grants", "--all"}).out, StartsWith("GR-1\trevoked\t"));
  const std::string trail = reeve({"audit", "list", "--json"}).out;
  EXPECT_EQ(testing::count_of(trail, "\"grant_created\""), 1) << trail;
  EXPECT_EQ(testing::count_of(trail, "\"grant_revoked\""), 1) << trail;
  EXPECT_EQ(reeve({"approve", "AP-2", "--confirm=AP-2"}).code, 0);
  finish("TR-1");
}

// By program: other arguments of the same subcommand, nothing else.
TEST_F(CallsCli, program_grant_covers_its_subcommand) {
  start_agent("TR-1",
              "answer $(ask c1 'git status'); answer $(ask c2 'git status --short'); answer $(ask c3 'git log')");
  const Outcome approved = reeve({"approve", "AP-1", "--always", "--match", "program", "--confirm=AP-1"});
  ASSERT_EQ(approved.code, 0) << approved.err;
  EXPECT_TRUE(testing::eventually([&] { return sql("SELECT count(*) FROM tool_calls") == "3"; }));
  EXPECT_EQ(sql("SELECT native_id, rule FROM tool_calls WHERE decision = 'allow'"), "c2\tGR-1");
  EXPECT_EQ(sql("SELECT native_id FROM tool_calls WHERE answer IS NULL"), "c3");
  EXPECT_EQ(reeve({"approve", "AP-2", "--always", "--match", "path=src/**", "--confirm=AP-2"}).code, 2);
  EXPECT_EQ(reeve({"approve", "AP-2", "--confirm=AP-2"}).code, 0);
  finish("TR-1");
  EXPECT_THAT(reeve({"policy", "suggest"}).out, HasSubstr("- {policy: auto_approve, when: {argv: [\"git\",\"log\"]}}"));
}

// Wider grants are confirmed with what they allow; without that, nothing is decided (TOOL-8).
TEST_F(CallsCli, wider_grant_needs_its_confirmation) {
  start_agent("TR-1", one_call());
  const std::string wide = R"({"always":{"scope":"project"}})";
  EXPECT_THAT(request("POST", "/api/approvals/AP-1/approve", wide), HasSubstr("grant.unconfirmed"));
  EXPECT_THAT(request("POST", "/api/approvals/AP-1/approve", R"({"always":{"scope":"project","confirmed":"yes"}})"),
              HasSubstr("grant.unconfirmed"));
  EXPECT_EQ(reeve({"approve", "AP-1", "--always", "--for", "project"}).code, 2);
  EXPECT_EQ(reeve({"approve", "AP-1", "--always", "--for", "execution", "--confirm=AP-1"}).code, 2);
  EXPECT_EQ(reeve({"approve", "AP-1", "--always", "--expires", "31d", "--confirm=AP-1"}).code, 2);
  EXPECT_EQ(reeve({"approve", "AP-1", "--for", "project"}).code, 2);
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(sql("SELECT count(*) FROM grants"), "0");
  const Outcome made = reeve({"approve", "AP-1", "--always", "--for", "project", "--confirm=AP-1"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(sql("SELECT scope FROM grants"), "project");
  finish("TR-1");
}

TEST_F(CallsCli, equal_questions_are_decided_together) {
  start_agent("TR-1",
              "a=$(ask c1 'git push'); b=$(ask c2 'git push'); c=$(ask c3 'git push -f'); answer $a; answer $b; "
              "answer $c");
  EXPECT_TRUE(testing::eventually([&] { return sql("SELECT count(*) FROM approvals") == "3"; }));
  const Outcome approved = reeve({"approve", "AP-1", "--equal", "--confirm=AP-1"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_EQ(sql("SELECT status FROM approvals ORDER BY number"), "approved\napproved\npending");
  EXPECT_EQ(reeve({"reject", "AP-3", "--equal"}).code, 0);
  finish("TR-1");
}

// Attacks. Only the owner at the socket, or the scope `admin`, makes grants; tokens of other projects see nothing.
TEST_F(CallsCli, tokens_without_the_right_make_no_grants) {
  start_agent("TR-1", one_call());
  const Port port = open_port();
  const auto as = [&](const std::string& token, const std::string& method, const std::string& target,
                      const std::string& body = {}) {
    return ask(port, compose(port, method, target, bearer(token), body));
  };
  const std::string decider = make_token("decider", "approve,operate");
  const std::string always = R"({"always":{}})";
  const std::string refused = as(decider, "POST", "/api/approvals/AP-1/approve", always);
  EXPECT_EQ(status_of(refused), 403) << refused;
  EXPECT_THAT(refused, HasSubstr("api.forbidden"));
  EXPECT_EQ(status_of(as(make_token("reader", "read"), "POST", "/api/approvals/AP-1/grant-preview", "{}")), 403);
  const auto other = scratch().write("other/.reeve/config.yaml", "{}\n").parent_path().parent_path();
  const Outcome made = reeve({"token", "create", "other", "--scope", "approve,operate", "--project", other.string()});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string stranger = made.out.substr(0, made.out.find('\n'));
  EXPECT_EQ(status_of(as(stranger, "POST", "/api/approvals/AP-1/approve", always)), 404);
  EXPECT_EQ(status_of(as(stranger, "POST", "/api/approvals/AP-1/grant-preview", "{}")), 404);
  EXPECT_EQ(status_of(as(stranger, "GET", "/api/tool-calls/TC-1")), 404);
  EXPECT_THAT(as(stranger, "GET", "/api/tool-calls"), HasSubstr(R"("items":[])"));
  EXPECT_EQ(sql("SELECT status FROM approvals"), "pending");
  EXPECT_EQ(sql("SELECT count(*) FROM grants"), "0");
  EXPECT_EQ(status_of(as(make_token("boss", "admin"), "POST", "/api/approvals/AP-1/approve", always)), 200);
  EXPECT_EQ(sql("SELECT created_by FROM grants"), "boss");
  EXPECT_EQ(status_of(as(stranger, "GET", "/api/grants/GR-1")), 404);
  EXPECT_EQ(status_of(as(stranger, "POST", "/api/grants/GR-1/revoke", "{}")), 404);
  EXPECT_THAT(as(stranger, "GET", "/api/grants"), HasSubstr(R"("items":[])"));
  EXPECT_EQ(sql("SELECT count(*) FROM grants WHERE revoked_at IS NULL"), "1");
  finish("TR-1");
}

// APR-11: a process inside a run makes, sees and revokes no grants, and reads the calls of its own run only.
TEST_F(CallsCli, process_inside_a_run_grants_itself_nothing) {
  start_agent("TR-1", one_call());
  const auto curl = [&](const std::string& target, const std::string& options = {}) {
    return fmt::format("curl -s -g -w ' %{{http_code}}\n' {} --unix-socket {} \"http://x{}\"; ", options,
                       socket().string(), target);
  };
  const std::string post = "--json '{}'";
  start_agent("TR-2", "a=$(ask c1 ls); " + curl("/api/approvals/AP-2/approve", R"(--json '{"always":{}}')") +
                          curl("/api/approvals/AP-1/approve", R"(--json '{"always":{}}')") +
                          curl("/api/approvals/AP-2/grant-preview", post) + curl("/api/grants") +
                          curl("/api/grants/GR-1") + curl("/api/grants/GR-1/revoke", post) + curl("/api/tool-calls") +
                          curl("/api/tool-calls?run=TR-1") + curl("/api/tool-calls/TC-1") +
                          curl("/api/policy/suggestions") + curl("/api/tool-calls?run=TR-2") +
                          curl("/api/tool-calls/$a") + "echo over; answer $a");
  wait_for_output("TR-2", "over");
  const std::string said = logs("TR-2");
  EXPECT_EQ(testing::count_of(said, " 403\n"), 10) << said;
  EXPECT_EQ(testing::count_of(said, " 200\n"), 2) << said;
  EXPECT_EQ(sql("SELECT count(*) FROM grants"), "0");
  EXPECT_EQ(sql("SELECT count(*) FROM approvals WHERE status = 'pending'"), "2");
  EXPECT_THAT(sql("SELECT data FROM audit_log WHERE kind = 'decision_refused'"),
              AllOf(HasSubstr("decide AP-2"), HasSubstr("revoke GR-1"), HasSubstr("preview a grant from AP-2")));
  for (const char* id : {"AP-1", "AP-2"}) EXPECT_EQ(reeve({"reject", id}).code, 0);
  finish("TR-1");
  finish("TR-2");
}

// TOOL-8: a table of calls, without effects.
TEST_F(CallsCli, policy_test_reports_each_call) {
  const auto table = scratch().write("calls.yaml",
                                     "- {tool: file_read, arguments: {path: src/a.c}, expect: auto_approve}\n"
                                     "- {tool: file_read, arguments: {path: .env}, expect: require_approval}\n"
                                     "- {tool: file_delete, arguments: {path: a}, expect: deny}\n");
  const Outcome fine = reeve({"policy", "test", table.string()});
  EXPECT_EQ(fine.code, 0) << fine.out << fine.err;
  EXPECT_EQ(testing::count_of(fine.out, "ok\t"), 3) << fine.out;
  const auto wrong =
      scratch().write("wrong.yaml", "- {tool: file_delete, arguments: {path: a}, expect: auto_approve}\n");
  const Outcome differs = reeve({"policy", "test", wrong.string()});
  EXPECT_EQ(differs.code, 1);
  EXPECT_THAT(differs.out, StartsWith("differs\t1\tfile_delete\ta\tauto_approve\tdeny\t"));
  EXPECT_EQ(reeve({"policy", "test", scratch().write("bad.yaml", "- {tool: a}\n").string()}).code, 2);
  EXPECT_EQ(reeve({"policy", "test", "missing.yaml"}).code, 3);
  EXPECT_EQ(sql("SELECT count(*) FROM tool_calls"), "0");
}

TEST_F(CallsCli, suggestions_need_approved_calls) {
  EXPECT_EQ(reeve({"policy", "suggest"}).out, "");
  EXPECT_EQ(reeve({"policy", "suggest", "--since", "soon"}).code, 2);
  start_agent("TR-1", "answer $(ask c1 'python3 a.py')");
  EXPECT_EQ(reeve({"approve", "AP-1", "--confirm=AP-1"}).code, 0);
  finish("TR-1");
  const Outcome suggested = reeve({"policy", "suggest", "--run", "TR-1"});
  EXPECT_EQ(suggested.code, 0) << suggested.err;
  EXPECT_THAT(suggested.out, Not(HasSubstr("python3"))) << "an interpreter is never suggested";
  EXPECT_THAT(reeve({"policy", "suggest", "--json"}).out, HasSubstr(R"("approved":1)"));
}

// `policy show` says which agents ask, and which rules have no effect.
TEST_F(CallsCli, policy_show_names_what_is_not_gated) {
  configure(
      "tools:\n  free: {command: [free]}\n  own: {command: [own], speaks: reeve, mode: stream}\n"
      "policies: {tools: {shell_execute: {policy: auto_approve, when: {sandbox: guard, program: ls}}}}\n");
  const Outcome shown = reeve({"policy", "show"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.err, AllOf(HasSubstr("not gated: free:"), HasSubstr("\ngated: own:"), HasSubstr("no effect: ")));
}

}  // namespace
}  // namespace reeve
