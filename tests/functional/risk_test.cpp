#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"
#include "tests/support/web_receiver.h"

// APR-3: each approval has a risk, and the confirmation depends on it (UX).
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using ::testing::StartsWith;

class ApprovalRisk : public testing::ScriptedFlowTest {
 protected:
  std::unique_ptr<testing::Session> at_terminal(const testing::Words& words) const {
    return start(words, testing::Session::Ends::terminal, {{"NO_COLOR", "1"}});
  }
  static constexpr const char* pushes = R"("question":"Run `git push origin main`?")";

  // A run on a terminal; returns the id of its question.
  std::string ask_at_terminal(const std::string& program, const testing::Words& options = {}) const {
    testing::Words words = {"run", "--detach", "--pty"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "bash", "-c", program});
    const Outcome started = reeve(words);
    const std::string run = started.out.substr(0, started.out.find('\n'));
    wait_for_status(run, "waiting_approval");
    return question_of(run);
  }
};

TEST_F(ApprovalRisk, medium_needs_yes_without_a_terminal) {
  const std::string id = ask();
  EXPECT_EQ(show(id)["risk"], "medium");
  for (const testing::Words& words :
       {testing::Words{"approve", id}, {"approve", id, "--confirm=AP-9"}, {"approvals", "approve", id}}) {
    const Outcome refused = reeve(words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("cli.confirmation_needed"), HasSubstr("medium risk: Reeve cannot tell"),
                                   HasSubstr("add `--yes`")));
  }
  EXPECT_EQ(show(id)["status"], "pending");
  EXPECT_EQ(reeve({"approve", id, "--yes"}).code, 0);
  finish("TR-1");
  const std::string other = ask();
  EXPECT_EQ(reeve({"approve", other, "--confirm", other}).code, 0);
  finish("TR-2");
  EXPECT_EQ(reeve({"reject", ask()}).code, 0) << "a rejection needs no confirmation";
}

TEST_F(ApprovalRisk, high_needs_the_id_without_a_terminal) {
  const std::string id = ask(pushes);
  EXPECT_EQ(show(id)["risk"], "high");
  const Outcome refused = reeve({"approve", id, "--yes"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("high risk: the question names `git push`"), HasSubstr("--confirm=AP-1")));
  EXPECT_EQ(reeve({"approve", id, "--confirm=@last"}).code, 2) << "@last may be another one by now";
  EXPECT_EQ(reeve({"approve", "@last", "--yes"}).code, 2);
  EXPECT_EQ(show(id)["status"], "pending");
  // Of several, only the named one is confirmed.
  const std::string other = ask(pushes);
  const Outcome some = reeve({"approve", id, other, "--confirm=ap-1"});
  EXPECT_EQ(some.code, 2);
  EXPECT_THAT(some.out, ::testing::StartsWith("AP-1\tapproved\tapprove\t"));
  EXPECT_EQ(show(other)["status"], "pending");
  EXPECT_EQ(reeve({"reject", other}).code, 0);
  finish("TR-1");
}

TEST_F(ApprovalRisk, medium_asks_yes_or_no_at_a_terminal) {
  const std::string id = ask();
  for (const char* typed : {"\r", "n\r", "AP-1\r"}) {
    const auto left = at_terminal({"approve", id});
    ASSERT_TRUE(left->wait_for("Approve AP-1? [y/N] "));
    left->type(typed);
    EXPECT_EQ(left->wait(), 130) << left->out();
  }
  EXPECT_EQ(show(id)["status"], "pending");
  const auto asked = at_terminal({"approve", id});
  ASSERT_TRUE(asked->wait_for("[y/N] "));
  EXPECT_THAT(asked->out(), AllOf(HasSubstr("AP-1 sh TR-1 (project) asks: Go on?"), HasSubstr("medium risk: ")));
  asked->type("y\r");
  EXPECT_EQ(asked->wait(), 0) << asked->out();
  // A decision repeats question, project and run.
  EXPECT_THAT(asked->out(), AllOf(HasSubstr("✓ AP-1 approved"), HasSubstr("sh TR-1 (project) asked: Go on?")));
  finish("TR-1");
  const auto rejected = at_terminal({"reject", ask()});
  EXPECT_EQ(rejected->wait(), 0);
  EXPECT_THAT(rejected->out(), AllOf(HasSubstr("✗ AP-2 rejected"), HasSubstr("sh TR-2 (project) asked: Go on?")));
  EXPECT_EQ(at_terminal({"approve", ask(), "--yes"})->wait(), 0);
  finish("TR-3");
}

TEST_F(ApprovalRisk, high_asks_for_the_id_at_a_terminal) {
  const std::string id = ask(pushes);
  for (const char* typed : {"y\r", "yes\r", "AP-2\r", "\r"}) {
    const auto left = at_terminal({"approve", id, "--yes"});
    ASSERT_TRUE(left->wait_for("Type AP-1 to confirm: "));
    left->type(typed);
    EXPECT_EQ(left->wait(), 130) << left->out();
  }
  EXPECT_EQ(show(id)["status"], "pending");
  const auto asked = at_terminal({"approve", id});
  ASSERT_TRUE(asked->wait_for("Type AP-1 to confirm: "));
  asked->type("ap-1\r");
  EXPECT_EQ(asked->wait(), 0) << asked->out();
  finish("TR-1");
}

// What was confirmed is what was shown.
TEST_F(ApprovalRisk, confirmation_does_not_cover_a_change) {
  const std::string id = ask();
  const auto asked = at_terminal({"approve", id});
  ASSERT_TRUE(asked->wait_for("[y/N] "));
  sql("UPDATE approvals SET question = 'Drop the database?' WHERE number = 1");
  asked->type("y\r");
  EXPECT_NE(asked->wait(), 0);
  EXPECT_THAT(asked->out(), HasSubstr("AP-1 has changed since it was shown; nothing was decided"));
  EXPECT_EQ(show(id)["status"], "pending");
  const auto late = at_terminal({"approve", id});
  ASSERT_TRUE(late->wait_for("Drop the database?"));
  ASSERT_TRUE(late->wait_for("[y/N] "));
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  late->type("y\r");
  EXPECT_EQ(late->wait(), 4);
  EXPECT_THAT(late->out(), HasSubstr("AP-1 was already rejected"));
}

// SECURITY: whatever a tool says about its own question, the risk and the screen are Reeve's.
TEST_F(ApprovalRisk, a_tool_cannot_set_risk_or_context) {
  const std::string id =
      ask(R"("question":"Go on?","risk":"low","risk_reasons":["harmless"],"context":"all is well","kind":"human")");
  const Outcome shown = reeve({"show", id, "--json"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("\"risk\":\"medium\""), HasSubstr("\"context\":null"),
                               Not(HasSubstr("harmless")), Not(HasSubstr("all is well"))));
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  const std::string run = start_script(
      R"(curl -s --unix-socket "$REEVE_SOCKET" -H 'Content-Type: application/json' -d '{"question":"In?","risk":"low"}' )"
      R"(http://reeve/api/approvals; curl -s --unix-socket "$REEVE_SOCKET" -H 'Content-Type: application/json' )"
      R"(-d '{"question":"Now?"}' http://reeve/api/approvals; sleep 1000)");
  wait_for_status(run, "waiting_approval");
  EXPECT_EQ(show(question_of(run))["risk"], "medium");
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  finish(run);
}

// Only the user's own config lowers a risk; a project's, even if trusted, only raises it.
TEST_F(ApprovalRisk, project_config_only_raises_it) {
  settle({.more = "risk: {question: low, prompt: high}\n"});
  EXPECT_EQ(show(ask())["risk"], "medium");
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
  EXPECT_EQ(show(ask_at_terminal(R"(read -p "Go on? [y/N] " a)"))["risk"], "high");
  EXPECT_EQ(reeve({"reject", "AP-2"}).code, 0);
  EXPECT_THAT(reeve({"config", "show"}).err, HasSubstr("`risk.question` is ignored: only your own config may lower"));
}

TEST_F(ApprovalRisk, users_config_lowers_it) {
  scratch().write("home/.config/reeve/config.yaml", "risk: {question: low}\n");
  const std::string id = ask();
  EXPECT_EQ(show(id)["risk"], "low");
  EXPECT_EQ(reeve({"approve", id}).code, 0) << "low risk needs no confirmation";
  finish("TR-1");
}

// The live screen follows the same rules.
TEST_F(ApprovalRisk, live_screen_asks_for_the_confirmation) {
  const std::string asks = script("ask.sh", R"(if [ -n "$REEVE_APPROVAL_ID" ]; then exit 0; fi
echo '{"event":"approval_needed","question":"Run git push now?"}'; exit 90
)");
  const std::string file = write_flow(workflow(shell("ask", "sh " + asks), ""));
  const auto followed = at_terminal({"flow", "run", file});
  ASSERT_TRUE(followed->wait_for("asks: Run git push now?")) << followed->out();
  // Keys before the question could be read are ignored.
  ASSERT_TRUE(eventually([&] {
    followed->type("x");
    return followed->out().find("> x") != std::string::npos;
  })) << followed->out();
  followed->type(
      "\x15"
      "1\r");
  ASSERT_TRUE(followed->wait_for("Type AP-1 to confirm")) << followed->out();
  followed->type("y\r");
  ASSERT_TRUE(followed->wait_for("not confirmed")) << followed->out();
  EXPECT_EQ(show("AP-1")["status"], "pending");
  int turn = 0;
  ASSERT_TRUE(eventually([&] {
    followed->type(turn++ % 2 == 0 ? "1\r" : "AP-1\r");
    return show("AP-1")["status"] == "approved";
  })) << followed->out();
  EXPECT_EQ(followed->wait(), 0) << followed->out();
}

// A workflow's question without changes is harmless; with changes it is not, and the files decide.
TEST_F(ApprovalRisk, workflow_question_is_as_risky_as_its_changes) {
  scratch().write("project/old.txt", "old\n");
  scratch().write("project/stale.txt", "stale\n");
  make_repository();
  const std::string human = node("ask", "human, human_config: {title: Ship it?}");
  const std::string none = start_flow(workflow(human, ""));
  EXPECT_EQ(show(question_at(none, "ask"))["risk"], "low");
  EXPECT_EQ(reeve({"approve", question_at(none, "ask")}).code, 0);
  EXPECT_EQ(end_of(none).at("status"), "completed");
  struct Case {
    const char* change;
    const char* risk;
    const char* reason;
  };
  for (const Case& one :
       {Case{"true", "low", "no files have changed"}, Case{"echo 1 > one.txt", "medium", "changes 1 file"},
        Case{"mkdir -p .github/workflows; echo 1 > .github/workflows/ci.yml", "high",
             "changes CI files: .github/workflows/ci.yml"},
        Case{"rm old.txt stale.txt", "high", "deletes old.txt, stale.txt"},
        Case{"mv old.txt new.txt", "medium", "changes 2 files"}}) {
    const std::string id = start_flow(workflow(shell("work", one.change) + human, edges("work>ask")));
    const std::string question = question_at(id, "ask");
    EXPECT_EQ(show(question)["risk"], one.risk) << one.change;
    EXPECT_THAT(show(question)["risk_reasons"], HasSubstr(one.reason));
    EXPECT_EQ(reeve({"reject", question}).code, 0);
    end_of(id);
  }
}

// ISO-4: so is the question whether to apply them, and its answer needs the confirmation of a high risk.
TEST_F(ApprovalRisk, apply_question_of_deleted_files_is_high) {
  scratch().write("project/old.txt", "old\n");
  make_repository();
  run_flow(workflow(shell("work", "rm old.txt"), "", "{apply: on_approval}"));
  EXPECT_EQ(show("AP-1")["risk"], "high");
  EXPECT_THAT(show("AP-1")["risk_reasons"], HasSubstr("deletes old.txt"));
  EXPECT_THAT(reeve({"show", "PA-1", "--json"}).out, HasSubstr(R"("is_deleted":true)"));
  EXPECT_THAT(reeve({"patch", "list", "--here"}).out, StartsWith("PA-1\t"));
  const Outcome refused = reeve({"approve", "AP-1", "--yes"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("high risk: deletes old.txt"));
  EXPECT_EQ(reeve({"approve", "AP-1", "--confirm=AP-1"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(project() / "old.txt"); }));
}

// Without a worktree, Reeve does not know what the tasks before the question have changed.
TEST_F(ApprovalRisk, workflow_question_is_medium_if_changes_are_unknown) {
  const std::string human = node("ask", "human, human_config: {title: Ship it?}");
  const std::string id = start_flow(workflow(shell("work", "true") + human, edges("work>ask")));
  EXPECT_EQ(show(question_at(id, "ask"))["risk"], "medium");
  EXPECT_EQ(reeve({"reject", question_at(id, "ask")}).code, 0);
  end_of(id);
}

// RUN-10: the prompt's own line is the question, and the screen is its context, on every surface.
TEST_F(ApprovalRisk, screen_is_the_context_of_a_prompt) {
  const testing::WebReceiver receiver;
  settle({.more = fmt::format("notify: [{{on: [approval_needed], webhook: \"{}\"}}]\n", receiver.address())});
  const std::string id = ask_at_terminal(
      R"(printf ' Bash command\n\n  rm -rf build %s\n\n Do you want to proceed?\n \342\235\257 1. Yes\n   2. No\n' $MY_TOKEN; read a)",
      {"--env", "MY_TOKEN=tok-1234567890"});
  const Members asked = show(id);
  EXPECT_EQ(asked.at("question"), "Do you want to proceed?");
  EXPECT_EQ(asked.at("context"),
            " Bash command\n\n  rm -rf build ***\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No");
  EXPECT_EQ(asked.at("risk"), "high");
  EXPECT_THAT(asked.at("risk_reasons"), AllOf(HasSubstr("`rm`"), HasSubstr("shell command outside a sandbox")));
  EXPECT_THAT(reeve({"show", id}).out, HasSubstr("\ncontext\t Bash command\\n\\n  rm -rf build ***\\n"));
  EXPECT_THAT(request("GET", "/api/approvals"), HasSubstr("rm -rf build ***"));
  const auto posts = receiver.wait_for(1);
  const Members told = testing::parse_object(posts.front().body).value();
  EXPECT_EQ(told.at("question"), "Do you want to proceed?");
  EXPECT_EQ(told.at("context"), asked.at("context"));
  EXPECT_EQ(told.at("risk"), "high");
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out, Not(HasSubstr("rm -rf build")));
  const auto approving = at_terminal({"approve", id, "--choice", "1"});
  ASSERT_TRUE(approving->wait_for("Approve AP-1 with `1` (Yes)? Type AP-1 to confirm: ")) << approving->out();
  EXPECT_THAT(approving->out(), HasSubstr("│   rm -rf build ***"));
  approving->type("AP-1\r");
  EXPECT_EQ(approving->wait(), 0);
  finish("TR-1");
}

// RUN-10, with programs that are not agents.
TEST_F(ApprovalRisk, prompt_of_git_add_p_is_its_own_line) {
  make_repository();
  const std::string id = ask_at_terminal(
      "export GIT_PAGER=cat; echo one > file; git add file; git -c user.name=a -c user.email=a@b commit -qm f; "
      "echo two > file; git add -p");
  const Members asked = show(id);
  EXPECT_THAT(asked.at("question"), StartsWith("(1/1) Stage this hunk ["));
  EXPECT_THAT(asked.at("context"), AllOf(HasSubstr("\n-one\n+two\n"), HasSubstr("diff --git a/file b/file")));
  EXPECT_EQ(asked.at("risk"), "medium");
  EXPECT_EQ(reeve({"reject", id}).code, 0);
  finish("TR-1");
}

}  // namespace
}  // namespace reeve
