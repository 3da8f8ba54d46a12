#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// What a hostile agent or repository tries with tool calls, and what it gets: a denial or an error (TOOL-8, TOOL-9,
// APR-10, APR-11).
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

class ToolCallAttack : public testing::ToolCallsTest {
 protected:
  ToolCallAttack() {
    configure(agent_config(", resume: live", ", file_write: {policy: auto_approve, when: {path: 'free/**'}}"));
  }

  static std::string read_call(const std::string& id, const std::string& path) {
    return "call " + id + " file_read " + quoted(fmt::format(R"({{"path":"{}"}})", path)) + " --execute";
  }
  static std::string write_call(const std::string& id, const std::string& path) {
    return "call " + id + " file_write " + quoted(fmt::format(R"({{"path":"{}","content":"x"}})", path)) + " --execute";
  }
  // An agent whose variable PIN is a secret; it waits for `go` after these calls.
  std::string begin_with_secret(const std::string& calls) const {
    configure(agent_config(", resume: live, secrets: [PIN], env: {PIN: correct-horse-battery}",
                           ", file_write: {policy: auto_approve, when: {path: 'free/**'}}"));
    const std::string run = begin(calls + "\necho asked; wait_file go");
    wait_for_output(run, "asked");
    return run;
  }
  void expect_hidden(const std::string& run) const {
    for (const testing::Words& words : std::vector<testing::Words>{{"calls", run, "--json"},
                                                                   {"show", run, "--calls"},
                                                                   {"approvals", "--json"},
                                                                   {"show", "AP-1"},
                                                                   {"audit", "list", "--json"}}) {
      EXPECT_THAT(reeve(words).out, Not(HasSubstr("correct-horse"))) << words.front() << " " << words.back();
    }
    EXPECT_THAT(testing::read_text(state() / "logs/combined.log"), Not(HasSubstr("correct-horse")));
    let("go");
    expect_completed(run);
  }
  // A file that no run may read.
  std::string secret() const { return scratch().write("outside/secret", "hunter2\n").string(); }
};

// TOOL-4, TOOL-8: neither a rule nor a person lets the tool host out of the worktree.
TEST_F(ToolCallAttack, paths_that_leave_the_worktree_ask_and_are_never_opened) {
  const std::string outside = secret();
  fs::create_directory(project() / "free");
  fs::create_symlink("../../outside", project() / "free/link");
  fs::create_symlink(outside, project() / "plain.md");
  for (const std::string& path :
       {std::string("../outside/secret"), outside, std::string("free/../../outside/secret"), std::string("plain.md"),
        std::string("free/link/secret"), "/proc/self/root" + outside, "//" + outside}) {
    SCOPED_TRACE(path);
    const std::string run = begin(read_call("c", path));
    Members call = wait_for_waiting(run, 1).at(0);
    EXPECT_EQ(approve(call["approval_id"]).code, 0);
    expect_completed(run);
    EXPECT_THAT(logs(run), AllOf(HasSubstr(R"("is_error":true)"), Not(HasSubstr("hunter2"))));
    EXPECT_EQ(call_of(run, "c")["outcome"], "failed");
  }
  const std::string run = begin(write_call("c", "free/link/new") + "; " + write_call("d", "free/../../outside/new"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  EXPECT_FALSE(fs::exists(scratch().path() / "outside/new"));
  EXPECT_EQ(testing::count_of(logs(run), R"("is_error":true)"), 2) << logs(run);
}

// The person sees a folder of the worktree; before the yes it becomes a link to another place.
TEST_F(ToolCallAttack, folder_swapped_for_a_link_after_the_question_is_not_followed) {
  secret();
  fs::create_directory(project() / "docs");
  const std::string run = begin(write_call("c", "docs/new") + "; " + write_call("d", "free/new"));
  const std::string question = wait_for_question(run);
  fs::remove(project() / "docs");
  fs::create_symlink("../outside", project() / "docs");
  fs::create_symlink("../outside", project() / "free");
  EXPECT_EQ(approve(question).code, 0);
  // The second path looks allowed by its rule, but leads outside.
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  expect_completed(run);
  EXPECT_FALSE(fs::exists(scratch().path() / "outside/new"));
  EXPECT_EQ(testing::count_of(logs(run), R"("is_error":true)"), 2) << logs(run);
}

// A process that swaps a file and a link for each other wins no race between check and use.
TEST_F(ToolCallAttack, link_swapped_during_calls_never_shows_its_target) {
  const std::string outside = secret();
  scratch().write("project/harmless", "harmless\n");
  const std::string run = begin("( while [ ! -e stop ]; do cp harmless new && mv -f new file; ln -sf '" + outside +
                                "' new && mv -f new file; done ) & swapper=$!\n"
                                "for i in $(seq 60); do " +
                                read_call("c$i", "file") + " --once; done; touch stop; wait $swapper; exit 0");
  expect_completed(run);
  EXPECT_THAT(logs(run), AllOf(HasSubstr("call_id"), Not(HasSubstr("hunter2"))));
  EXPECT_EQ(calls_of(run).size(), 60U);
}

// APR-10: the yes is for these arguments in this folder.
TEST_F(ToolCallAttack, changed_call_asks_again) {
  fs::create_directory(project() / "work");
  const std::string body =
      R"({"call":"c2","tool":"ask_me","arguments":{},"cwd":")" + (project() / "work").string() + "\"}";
  const std::string run = begin(
      "act c1 ask_me '{\"n\":1}'; act c1 ask_me '{\"n\":2}' --once\n"
      "post tool-calls " +
      quoted(body) +
      " >/dev/null; wait_file go\n"
      "post tool-calls " +
      quoted(body) + "; echo; echo asked; wait_file end");
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  const std::vector<Members> waiting = wait_for_waiting(run, 2);
  EXPECT_EQ(approve(waiting.at(1).at("approval_id")).code, 0);
  // The same name, another folder.
  fs::rename(project() / "work", project() / "old");
  fs::create_directory(project() / "work");
  let("go");
  wait_for_output(run, "asked");
  EXPECT_EQ(wait_for_waiting(run, 2).size(), 2U);
  EXPECT_EQ(question_count(run), 4);
  EXPECT_THAT(executed(), ElementsAre("c1"));
  EXPECT_EQ(testing::count_of(logs(run), R"("decision":"allow")"), 1) << logs(run);
  let("end");
  expect_completed(run);
}

// Ids of calls are easy to guess: they open nothing.
TEST_F(ToolCallAttack, calls_of_other_runs_cannot_be_read_reported_or_withdrawn) {
  const std::string victim = begin("act c1 ask_me '{\"token\":\"mine\"}'");
  const std::string question = wait_for_question(victim);
  const std::string said =
      say("for id in TC-1 tc-1 c1 TC-99 TC-0 TC--1 TC-99999999999999999999 %2e%2e ..%2f.. '%00'; do\n"
          "  get tool-calls/$id/wait?timeout=1s; echo; post tool-calls/$id/result '{}'; echo\n"
          "  post tool-calls/$id/withdraw '{}'; echo; done");
  EXPECT_THAT(said, AllOf(Not(HasSubstr("mine")), Not(HasSubstr("\"decision\""))));
  EXPECT_GE(testing::count_of(said, "call.not_found"), 20) << said;
  EXPECT_EQ(call_of(victim, "c1")["outcome"], "null");
  EXPECT_EQ(show(question)["status"], "pending");
  // Nor through the other run's socket.
  const std::string door = (state() / "runs" / victim / "door/sock").string();
  EXPECT_THAT(say("REEVE_SOCKET=" + door +
                  "; post tool-calls '{\"call\":\"x\",\"tool\":\"probe\",\"arguments\":{}}'\n"
                  "get tool-calls/c1/wait?timeout=1s; post tool-calls/c1/withdraw '{}'; post session '{}'"),
              AllOf(HasSubstr("api.not_from_a_run"), Not(HasSubstr("\"decision\""))));
  EXPECT_EQ(calls_of(victim).size(), 1U);
  EXPECT_EQ(reject(question).code, 0);
  expect_completed(victim);
}

// APR-11
TEST_F(ToolCallAttack, agent_cannot_decide_its_own_call_or_grant_anything) {
  const std::string program = "'" + testing::reeve_binary() + "' ";
  const std::string place = " --state '" + state().string() + "'";
  const std::string direct = "curl -s --unix-socket '" + socket().string() +
                             "' -H 'Content-Type: application/json' http://reeve/api/approvals/AP-1/approve -d ";
  const std::string run = begin(
      "call c1 ask_me '{}' --once\n" + program + "approve --yes --confirm=AP-1 AP-1" + place + "; echo code $?\n" +
      program + "approve --yes AP-1 --always" + place + "; echo code $?\n" + program + "policy revoke GR-1" + place +
      "; echo code $?\n"
      "post approvals/AP-1/approve '{}'; echo; " +
      direct + "'{}'; echo; " + direct + R"('{"always":{"scope":"project","match":"exact"}}'; echo; )" +
      "env -i PATH=/usr/bin:/bin setsid -w " + program + "approve --yes AP-1" + place +
      "; echo code $?; echo tried; act c1 ask_me '{}'");
  wait_for_output(run, "tried");
  EXPECT_EQ(testing::count_of(logs(run), "code 5\n"), 4) << logs(run);
  EXPECT_EQ(show("AP-1")["status"], "pending");
  EXPECT_EQ(reeve({"policy", "grants", "--all"}).out, "");
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, HasSubstr("decision_refused"));
  EXPECT_EQ(reject("AP-1").code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), IsEmpty());
}

// TOOL-9
TEST_F(ToolCallAttack, garbage_is_refused_and_harms_nobody) {
  const std::string run = begin(
      "raw() { curl -s -o /dev/null -w '%{http_code}\\n' --unix-socket \"$REEVE_SOCKET\" -H 'Content-Type: "
      "application/json' --data-binary @- \"http://reeve/api/$1\"; }\n"
      "while IFS= read -r line; do printf '%s' \"$line\" | raw tool-calls; done <<'END'\n"
      "\n[]\n{\nnull\n7\n{}\n{\"call\":1,\"tool\":\"probe\",\"arguments\":{}}\n"
      "{\"call\":\"c\",\"tool\":\"probe\"}\n{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":[]}\n"
      "{\"call\":\"\",\"tool\":\"probe\",\"arguments\":{}}\n{\"call\":\"c\",\"tool\":\"\",\"arguments\":{}}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"arguments\":{}}\n"
      "{\"call\":\"a\\nb\",\"tool\":\"probe\",\"arguments\":{}}\n"
      "{\"call\":\"c\",\"tool\":\"pro\\u202ebe\",\"arguments\":{}}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"cwd\":\"relative\"}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"cwd\":\"/no/such/folder\"}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"cwd\":\"/a\\u0000b\"}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"dialect\":\"klingon\"}\n"
      "{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{},\"channel\":\"telepathy\"}\n"
      "{\"call\":\"c\",\"tool\":\"file_read\",\"arguments\":{},\"execute\":true,\"dialect\":\"claude\"}\nEND\n"
      "printf '{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{\"a\":\"\\377\"}}' | raw tool-calls\n"
      "{ printf '{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":'; yes '{\"a\":' | head -n 500 | tr -d '\\n'; } | "
      "raw "
      "tool-calls\n"
      "{ printf '{\"call\":\"c\",\"tool\":\"probe\",\"arguments\":{\"a\":\"'; yes x | head -c 40000000 | tr -d '\\n'; "
      "printf '\"}}'; } | raw tool-calls\n"
      "{ printf '{\"call\":\"'; yes x | head -c 2000 | tr -d '\\n'; printf '\",\"tool\":\"probe\",\"arguments\":{}}'; "
      "} | "
      "raw tool-calls\n"
      "echo end; call good probe '{}'");
  expect_completed(run);
  const std::vector<std::string> lines = testing::lines_of(logs(run));
  std::size_t refused = 0;
  while (refused < lines.size() && lines[refused] != "end") {
    EXPECT_TRUE(lines[refused].starts_with("4")) << "body " << refused << ": " << lines[refused];
    ++refused;
  }
  EXPECT_EQ(refused, 24U) << logs(run);
  ASSERT_EQ(calls_of(run).size(), 1U);
  EXPECT_EQ(call_of(run, "good")["answer"], "allow");
}

// TOOL-7: secrets are hidden wherever a call is recorded; the tool gets them.
TEST_F(ToolCallAttack, secrets_in_arguments_are_not_recorded) {
  fs::create_directory(project() / "free");
  const std::string run = begin_with_secret(
      "call c1 file_write '{\"path\":\"free/a\",\"content\":\"'$PIN'\"}' --execute\n"
      "call c2 ask_me '{\"'$PIN'\":[\"x'$PIN'x\"]}' --once; call c3 forbidden '{\"p\":\"'$PIN'\"}'\n"
      "call call-$PIN ask_me '{}' --once");
  EXPECT_EQ(testing::read_text(project() / "free/a"), "correct-horse-battery");
  EXPECT_EQ(calls_of(run).size(), 4U);
  expect_hidden(run);
}

TEST_F(ToolCallAttack, secret_in_the_name_of_a_tool_is_not_recorded) {
  const std::string run = begin_with_secret("call c1 tool-$PIN '{}' --once");
  EXPECT_EQ(calls_of(run).size(), 1U);
  expect_hidden(run);
}

// TOOL-7: at most 16 KiB are stored, whatever is sent; the digest covers all of it.
TEST_F(ToolCallAttack, large_arguments_are_bounded) {
  const std::string run = begin(
      "many() { printf '{'; for i in $(seq 3000); do printf '\"k%s\":%s,' $i $i; done; printf '\"z\":%s}' $1; }\n"
      "long() { printf '{\"text\":\"'; yes x | head -c 200000 | tr -d '\\n'; printf '%s\"}' $1; }\n"
      "wide() { printf '{\"n\":['; for i in $(seq 5000); do printf '%s,' -9223372036854775807; done; printf '%s]}' $1; "
      "}\n"
      "escapes() { printf '{\"text\":\"'; yes '\\u0001' | head -n 20000 | tr -d '\\n'; printf '%s\"}' $1; }\n"
      "send() { { printf '{\"call\":\"%s\",\"tool\":\"ask_me\",\"arguments\":' $1; $1 $2; printf '}'; } > body\n"
      "  curl -s --unix-socket \"$REEVE_SOCKET\" -H 'Content-Type: application/json' --data-binary @body "
      "http://reeve/api/tool-calls; echo; }\n"
      "for kind in many long wide escapes; do send $kind 1; send $kind 2; done; echo sent; wait_file go");
  wait_for_output(run, "sent");
  const std::vector<Members> waiting = wait_for_waiting(run, 8);
  ASSERT_EQ(waiting.size(), 8U) << logs(run);
  // With the words about what is left out.
  constexpr std::size_t most = 17 * 1024;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const Members& call = waiting[i];
    EXPECT_LE(call.at("arguments").size(), most) << call.at("native_id");
    EXPECT_LE(show(call.at("approval_id"))["arguments"].size(), most) << call.at("native_id");
    if (i % 2 == 1) EXPECT_NE(call.at("arguments_digest"), waiting[i - 1].at("arguments_digest"));
  }
  let("go");
  expect_completed(run);
}

TEST_F(ToolCallAttack, thousands_of_calls_are_all_answered) {
  const std::string run = begin("'" + testing::zoo_binary() + "' calls q 5000 probe '{\"n\":{n}}' --lanes 8");
  expect_completed(run);
  EXPECT_THAT(logs(run), HasSubstr("allowed 5000 denied 0 waiting 0 refused 0"));
  EXPECT_THAT(reeve({"show", run, "--calls"}).out, HasSubstr("TC-5000"));
  expect_audit_intact();
}

TEST_F(ToolCallAttack, more_than_a_thousand_waiting_calls_are_refused) {
  const std::string run = begin("'" + testing::zoo_binary() +
                                "' calls w 1001 ask_me '{\"n\":{n}}' --lanes 8 --once\n"
                                "call last ask_me '{}' --once; call quick probe '{}'; wait_file go");
  wait_for_output(run, "\"decision\":\"allow\"");
  EXPECT_THAT(logs(run), AllOf(HasSubstr("allowed 0 denied 0 waiting 1000 refused 1"), HasSubstr("call.too_many")));
  let("go");
  expect_completed(run);
  EXPECT_EQ(reeve({"approvals"}).out, "");
  EXPECT_EQ(testing::count_of(reeve({"calls", run, "--limit", "1000"}).out, "\twithdrawn\t"), 999);
}

}  // namespace
}  // namespace reeve
