#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"

// `reeve demo` (SPEC §7, UX): shows what Reeve is for and leaves nothing behind.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using testing::Variables;
using testing::Words;

class Demo : public testing::DaemonTest {
 protected:
  Demo() { fs::create_directories(place()); }

  // Where the demo makes its folder.
  fs::path place() const { return scratch().path() / "tmp"; }
  Variables variables() const { return {{"TMPDIR", place().string()}, {"NO_COLOR", "1"}, {"TERM", "xterm"}}; }
  Outcome demo(const Words& more = {}) const {
    Words words = {"demo"};
    words.insert(words.end(), more.begin(), more.end());
    return reeve(words, variables());
  }
  std::unique_ptr<Session> at_terminal(const Words& words = {"demo"}) const {
    return start(words, Session::Ends::terminal, variables());
  }
  // The rest of the last line that starts with `beginning`.
  static std::string after(const std::string& text, const std::string& beginning) {
    const std::size_t at = text.rfind(beginning);
    if (at == std::string::npos) return {};
    const std::size_t from = at + beginning.size();
    return text.substr(from, text.find_first_of("\r\n", from) - from);
  }
  // Idle keepers may need a moment to exit.
  void expect_nothing_left() const {
    EXPECT_TRUE(fs::is_empty(place()));
    EXPECT_TRUE(testing::eventually([this] { return processes().empty(); }));
  }
};

TEST_F(Demo, runs_to_completion_without_a_terminal) {
  const Outcome outcome = demo();
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("the demo approves automatically"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("◆ TR-1 is waiting for you"), HasSubstr("Apply these 3 changes?"),
                                 HasSubstr("greet_test.sh   +2  new"), HasSubstr("✓ AP-1 approved by "),
                                 HasSubstr("the test passes"), HasSubstr("✓ TR-1 completed: 3 files changed")));
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("$ kill -9 "), HasSubstr("has taken over TR-2"), HasSubstr("✓ TR-2 completed: 6 of 6 lines"),
            HasSubstr("What to type next"), HasSubstr("$ reeve flow run fix"),
            HasSubstr("✗ test    failed: it fails without numbers"), HasSubstr("so back to the start"),
            HasSubstr("✓ test    all tests pass"), HasSubstr("✓ report  sum.sh adds"), HasSubstr("✓ EX-1 completed"),
            HasSubstr("reeve init"), HasSubstr("reeve run -- COMMAND")));
  for (int step = 1; step <= 6; ++step) {
    EXPECT_EQ(testing::count_of(outcome.out, "step " + std::to_string(step) + " of 6"), 1) << outcome.out;
  }
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  expect_nothing_left();
}

TEST_F(Demo, json_output_is_one_document) {
  const Outcome outcome = demo({"--yes", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  auto summary = testing::parse_object(outcome.out);
  ASSERT_TRUE(summary) << outcome.out;
  EXPECT_EQ((*summary)["answered"], "itself");
  EXPECT_EQ((*summary)["lines"], "6");
  EXPECT_EQ((*summary)["kept"], "false");
  EXPECT_THAT((*summary)["approval"], HasSubstr(R"("status":"approved")"));
  EXPECT_THAT((*summary)["runs"], HasSubstr(R"("attempt":2)"));
  EXPECT_THAT((*summary)["execution"], HasSubstr(R"("status":"completed")"));
  expect_nothing_left();
}

TEST_F(Demo, asks_at_a_terminal_and_shows_what_would_change) {
  const auto session = at_terminal();
  ASSERT_TRUE(session->wait_for("apply / reject / look?")) << session->out();
  EXPECT_THAT(session->out(), HasSubstr("from another terminal: reeve approve AP-1 --state "));
  session->type("maybe\r");
  ASSERT_TRUE(session->wait_for("type apply, reject or look"));
  session->type("l\r");
  ASSERT_TRUE(session->wait_for("- echo \"Hello, world!\""));
  ASSERT_TRUE(session->wait_for("+ echo \"Hello, $name!\""));
  ASSERT_TRUE(session->wait_for("apply / reject / look?"));
  session->type("apply\r");
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_THAT(session->out(), AllOf(HasSubstr("✓ TR-1 completed"), Not(HasSubstr("from elsewhere"))));
  expect_nothing_left();
}

// APR-8
TEST_F(Demo, rejection_changes_nothing) {
  const auto session = at_terminal({"demo", "--keep"});
  ASSERT_TRUE(session->wait_for("apply / reject / look?")) << session->out();
  session->type("reject\r");
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_THAT(session->out(), AllOf(HasSubstr("✗ AP-1 rejected"), HasSubstr("nothing was changed"),
                                    Not(HasSubstr("TR-1 completed")), HasSubstr("✓ TR-2 completed")));
  const fs::path kept = after(session->out(), "kept: ");
  ASSERT_TRUE(fs::exists(kept / "greet.sh")) << session->out();
  EXPECT_EQ(testing::read_text(kept / "greet.sh"), "# Greets the world.\necho \"Hello, world!\"\n");
  EXPECT_FALSE(fs::exists(kept / "greet_test.sh"));
  EXPECT_TRUE(testing::eventually([this] { return processes().empty(); }));
}

// APR-2: the first answer counts, wherever it comes from.
TEST_F(Demo, accepts_an_answer_from_another_terminal) {
  const auto session = at_terminal({"demo", "--keep"});
  ASSERT_TRUE(session->wait_for("apply / reject / look?")) << session->out();
  const std::string state = after(session->out(), "reeve approve AP-1 --state ");
  const Outcome approved = reeve({"approve", "--yes", "AP-1", "--state", state});
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_THAT(session->out(), AllOf(HasSubstr(", from elsewhere"), HasSubstr("✓ TR-1 completed")));
  EXPECT_THAT(testing::read_text(fs::path(state).parent_path().parent_path() / "greet.sh"), HasSubstr("$name"));
}

TEST_F(Demo, ctrl_c_leaves_nothing_behind) {
  const auto early = at_terminal();
  ASSERT_TRUE(early->wait_for("writing greet.sh")) << early->out();
  early->type("\x03");
  EXPECT_EQ(early->wait(), 130) << early->out();
  expect_nothing_left();
  const auto asked = at_terminal();
  ASSERT_TRUE(asked->wait_for("apply / reject / look?")) << asked->out();
  asked->type("\x03");
  EXPECT_EQ(asked->wait(), 130) << asked->out();
  EXPECT_THAT(asked->out(), HasSubstr("everything the demo created was removed"));
  expect_nothing_left();
  const auto late = start({"demo", "--yes"}, Session::Ends::terminal, variables());
  ASSERT_TRUE(late->wait_for("has taken over TR-2")) << late->out();
  late->type("\x03");
  EXPECT_EQ(late->wait(), 130) << late->out();
  expect_nothing_left();
  const auto last = start({"demo", "--yes"}, Session::Ends::terminal, variables());
  ASSERT_TRUE(last->wait_for("EX-1 is running")) << last->out();
  last->type("\x03");
  EXPECT_EQ(last->wait(), 130) << last->out();
  expect_nothing_left();
}

TEST_F(Demo, sigterm_and_end_of_input_clean_up) {
  const auto ended = at_terminal();
  ASSERT_TRUE(ended->wait_for("apply / reject / look?")) << ended->out();
  ended->signal(SIGTERM);
  EXPECT_EQ(ended->wait(), 128 + SIGTERM) << ended->out();
  expect_nothing_left();
  const auto left = at_terminal();
  ASSERT_TRUE(left->wait_for("apply / reject / look?")) << left->out();
  left->type("\x04");
  EXPECT_EQ(left->wait(), 130) << left->out();
  expect_nothing_left();
}

TEST_F(Demo, reports_what_prevents_it_from_running) {
  const Outcome no_room = reeve({"demo"}, {{"TMPDIR", (scratch().path() / "missing").string()}});
  EXPECT_EQ(no_room.code, 1);
  EXPECT_THAT(no_room.err, AllOf(HasSubstr("error[file.unwritable]"), HasSubstr("TMPDIR=DIR reeve demo")));
  const Outcome with_state = demo({"--state", "elsewhere"});
  EXPECT_EQ(with_state.code, 2);
  EXPECT_THAT(with_state.err, HasSubstr("the demo uses its own state folder"));
  Variables inside = variables();
  inside.emplace_back("REEVE_RUN_ID", "TR-1");
  const Outcome in_a_run = reeve({"demo"}, inside);
  EXPECT_EQ(in_a_run.code, 6) << in_a_run.err;
  EXPECT_THAT(in_a_run.err, HasSubstr("clients inside a run do not start one"));
  expect_nothing_left();
}

// The user's own store and config are not used.
TEST_F(Demo, ignores_the_users_store_and_config) {
  scratch().write("home/.config/reeve/config.yaml", "store: postgresql://nobody@nowhere/none\nnonsense: true\n");
  Variables with_store = variables();
  with_store.emplace_back("REEVE_STORE", "postgresql://nobody@nowhere/none");
  const Outcome outcome = reeve({"demo"}, with_store);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(fs::exists(state()));
  expect_nothing_left();
}

}  // namespace
}  // namespace reeve
