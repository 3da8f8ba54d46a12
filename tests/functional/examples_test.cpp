#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// Every example is played as its README says, command by command, and ends as its README says.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::read_text;
using testing::run_program;
using testing::Words;

class Examples : public testing::ScriptedFlowTest {
 protected:
  // The example becomes the project.
  void open(const std::string& name) {
    fs::remove_all(project() / ".reeve");
    fs::copy(testing::source_folder() / "examples" / name, project(),
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::remove_all(state());
    readme_ = read_text(project() / "README.md");
  }
  const std::string& readme() const { return readme_; }

  // The commands of its first code block, without the one that copies the example.
  std::vector<std::string> commands() const {
    const std::size_t begin = readme_.find("```\n") + 4;
    std::vector<std::string> lines = testing::lines_of(readme_.substr(begin, readme_.find("```", begin) - begin));
    EXPECT_THAT(lines.at(0), HasSubstr("cp -r examples/"));
    lines.erase(lines.begin());
    return lines;
  }
  // As typed or pasted in a shell.
  Outcome type(const std::string& line) const {
    testing::Launch launched = launch({});
    launched.argv = {"/bin/sh", "-c", line};
    const std::string bin = fs::path(testing::reeve_binary()).parent_path();
    for (auto& [name, value] : launched.environment) {
      if (name == "PATH") value = fmt::format("{}/bin:{}:{}", project().string(), bin, value);
    }
    for (const char* who : {"AUTHOR", "COMMITTER"}) {
      launched.environment.emplace_back(fmt::format("GIT_{}_NAME", who), "A Person");
      launched.environment.emplace_back(fmt::format("GIT_{}_EMAIL", who), "person@example.org");
    }
    return run_program(launched);
  }
  // Runs all of them; returns the output of the last.
  std::string play() const {
    std::string out;
    for (const std::string& line : commands()) {
      const Outcome outcome = type(line);
      // This one stops at a question.
      const int expected = line.contains("--no-wait") ? 90 : 0;
      EXPECT_EQ(outcome.code, expected) << line << "\n" << outcome.out << outcome.err;
      out = outcome.out;
    }
    return out;
  }
  std::string text(const std::string& file) const { return read_text(project() / file); }

 private:
  std::string readme_;
};

// S6, GRF-5, GRF-6
TEST_F(Examples, debug_loop_takes_two_rounds) {
  open("debug-loop");
  const std::string shown = play();
  const Members ended = execution("EX-1");
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_THAT(readme(), AllOf(HasSubstr("two rounds"), HasSubstr("is `completed`")));
  for (const char* node : {"analyze", "fix", "test"}) EXPECT_EQ(node_of(ended, node)["iteration"], "1") << node;
  EXPECT_EQ(node_of(ended, "review")["iteration"], "0");
  const auto before = history("EX-1", "iterations");
  EXPECT_THAT(before, Contains(::testing::Truly([](const Members& node) {
                return node.at("node_id") == "test" && node.at("outputs").contains("expected 0, got");
              })));
  // What the tests printed is in the next round's prompt.
  const auto runs = history("EX-1", "runs");
  EXPECT_THAT(runs, Contains(::testing::Truly([](const Members& run) {
                return run.at("node_id") == "analyze" && run.at("argv").contains("expected 0, got");
              })));
  EXPECT_THAT(shown, HasSubstr("expected 0, got")) << "flow show has what each test run printed";
  EXPECT_EQ(type("sh test.sh").code, 0);
}

TEST_F(Examples, debug_loop_gives_up_at_its_limit) {
  open("debug-loop");
  scratch().write("project/test.sh", "echo never; exit 1\n");
  const Members ended = run_flow(text(".reeve/workflows/debug-with-retry-loop.yaml"));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(ended.at("reason"), HasSubstr("check"));
  EXPECT_EQ(node_of(ended, "fix")["iteration"], "3") << "after the third loop";
}

// SPEC §7: with a WebSocket client from Debian; each event arrives once, resuming after the last number seen.
TEST_F(Examples, events_are_watched_and_resumed) {
  open("events");
  const std::string shown = play();
  EXPECT_THAT(shown, HasSubstr(" run.failed TR-3 failed\n"));
  EXPECT_THAT(shown, Not(HasSubstr("TR-2")));
  EXPECT_THAT(readme(), HasSubstr("shows TR-3 and nothing of TR-1 and TR-2"));
}

// S6, GRF-12
TEST_F(Examples, parallel_review_waits_for_a_person_and_continues) {
  open("parallel-review");
  play();
  const Members ended = end_of("EX-1");
  EXPECT_EQ(ended.at("status"), "completed");
  for (const char* gate : {"lint", "test", "security"}) EXPECT_EQ(outputs_of(ended, gate)["passed"], "true") << gate;
  EXPECT_EQ(outputs_of(ended, "review")["comment"], "nice");
  EXPECT_EQ(show("AP-1")["question"], "Approve Changes");
  EXPECT_TRUE(fs::exists(project() / "CHANGELOG.md"));
}

TEST_F(Examples, parallel_review_merges_nothing_after_a_rejection) {
  open("parallel-review");
  EXPECT_EQ(type(commands().at(0)).code, 90);
  EXPECT_EQ(type("reeve reject AP-1").code, 0);
  const Members ended = end_of("EX-1");
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(status_of(ended, "merge"), "skipped");
  EXPECT_THAT(ended.at("reason"), HasSubstr("no exit point was reached"));
  EXPECT_FALSE(fs::exists(project() / "CHANGELOG.md"));
  // GRF-14: no node failed, so there is nothing to retry.
  const Outcome refused = type("reeve flow retry EX-1");
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("EX-1 failed without a failed node (no exit point"),
                                 HasSubstr("start a new one: reeve flow run ")));
}

// GRF-5, GRF-12
TEST_F(Examples, human_loop_passes_the_comment_to_the_writer) {
  open("human-loop");
  play();
  const Members ended = end_of("EX-1");
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(text("published.txt"), "We open on Monday. (say where)\n");
  EXPECT_EQ(show("AP-1")["status"], "rejected");
  EXPECT_EQ(show("AP-2")["status"], "approved");
  EXPECT_EQ(node_of(ended, "draft")["iteration"], "1");
}

// GRF-10
TEST_F(Examples, fan_out_runs_ten_nodes_at_once) {
  open("fan-out");
  const std::string total = play();
  EXPECT_EQ(execution("EX-1").at("status"), "completed");
  EXPECT_EQ(history("EX-1", "runs").size(), 11U);
  EXPECT_THAT(readme(), HasSubstr("\"" + total.substr(0, total.find('\n')) + "\""));
}

// GRF-11
TEST_F(Examples, subgraph_writes_two_articles) {
  open("subgraph");
  EXPECT_EQ(play(), "Everybody talks about the harvest. Everybody talks about the weather.\n");
  EXPECT_EQ(execution("EX-1").at("status"), "completed");
  EXPECT_EQ(testing::lines_of(reeve({"flow", "list", "--parts"}).out).size(), 3U);
}

// PIP-1, PIP-3
TEST_F(Examples, pipeline_waits_for_approval_of_the_design) {
  open("pipeline");
  play();
  const Members ended = end_of("EX-1");
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(text("design.txt"), "one function, one test\n");
  EXPECT_THAT(text("prompt.txt"), AllOf(HasSubstr("a button that says done"), HasSubstr("keep it small")));
  EXPECT_THAT(type("reeve pipeline show EX-1").out, HasSubstr("done"));
}

// ISO-1, ISO-3, ISO-4
TEST_F(Examples, conflict_fails_one_node_and_keeps_its_patch) {
  open("conflict");
  play();
  const Members ended = end_of("EX-1");
  EXPECT_EQ(ended.at("status"), "completed");
  const std::string ana = status_of(ended, "ana");
  const std::string ben = status_of(ended, "ben");
  EXPECT_TRUE((ana == "completed" && ben == "failed") || (ana == "failed" && ben == "completed")) << ana << ben;
  EXPECT_THAT(node_of(ended, ana == "failed" ? "ana" : "ben")["error"], HasSubstr("motto.txt"));
  EXPECT_EQ(text("motto.txt"), ana == "completed" ? "slow and steady\n" : "fast and furious\n");
  EXPECT_EQ(text("authors.txt"), "the first author\ncleo\n");
  EXPECT_THAT(type("reeve patch list").out, HasSubstr("conflicted"));
}

// The commands in the main README match those of the example's README.
TEST_F(Examples, commands_of_the_main_readme_match_the_example) {
  open("debug-loop");
  const std::string page = read_text(testing::source_folder() / "README.md");
  const std::size_t section = page.find("## Workflows\n");
  ASSERT_NE(section, std::string::npos);
  const std::size_t begin = page.find("```\n", section) + 4;
  const auto lines = testing::lines_of(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_GE(lines.size(), 3U);
  for (const std::string& line : lines) {
    if (!line.starts_with("export ")) EXPECT_THAT(readme(), HasSubstr(line + "\n"));
  }
}

// Each README explains how to use a real agent; the lines it refers to exist and are valid.
TEST_F(Examples, real_agent_settings_of_each_example_are_valid) {
  for (const char* name :
       {"debug-loop", "parallel-review", "human-loop", "fan-out", "subgraph", "pipeline", "conflict"}) {
    open(name);
    EXPECT_THAT(readme(), HasSubstr("## With a real agent")) << name;
    const std::string config = text(".reeve/config.yaml");
    for (const std::string agent : {"claude", "codex", "aider"}) {
      std::string changed = config;
      const std::size_t line = changed.find("  # " + agent + ": ");
      ASSERT_NE(line, std::string::npos) << name << " " << agent;
      changed.erase(line + 2, 2);
      for (std::size_t at = 0; (at = changed.find("tool: script", at)) != std::string::npos;) {
        changed.replace(at + 6, 6, agent);
      }
      configure(changed);
      const Outcome shown = type("reeve config show");
      EXPECT_EQ(shown.code, 0) << name << shown.err;
      EXPECT_THAT(shown.out, HasSubstr(agent)) << name;
      if (!fs::exists(project() / ".reeve/workflows")) continue;
      for (const auto& file : fs::directory_iterator(project() / ".reeve/workflows")) {
        const Outcome valid = type("reeve flow validate " + file.path().string());
        EXPECT_EQ(valid.code, 0) << valid.err;
      }
    }
  }
}

// A stand-in for the real agent checks the arguments that the config passes.
TEST_F(Examples, debug_loop_runs_with_a_stand_in_agent) {
  open("debug-loop");
  scratch().write("project/bin/claude",
                  "#!/bin/sh\n[ \"$1\" = -p ] && [ \"$3 $4\" = '--permission-mode acceptEdits' ] || exit 2\n"
                  "exec /bin/sh scripts/agent.sh \"$2\"\n");
  fs::permissions(project() / "bin/claude", fs::perms::owner_all);
  std::string config = text(".reeve/config.yaml");
  config.erase(config.find("  # claude: ") + 2, 2);
  for (std::size_t at = 0; (at = config.find("tool: script", at)) != std::string::npos;)
    config.replace(at + 6, 6, "claude");
  configure(config);
  play();
  EXPECT_EQ(execution("EX-1").at("status"), "completed");
  for (const Members& run : history("EX-1", "runs")) EXPECT_NE(run.at("tool_name"), "script");
}

// API, SPEC §7
TEST_F(Examples, api_starts_a_run_approves_and_reads_over_http) {
  open("api");
  const std::string output = play();
  EXPECT_THAT(output, AllOf(HasSubstr("released 1.4.0"), HasSubstr("\"stream\":\"stdout\"")));
  EXPECT_THAT(readme(), HasSubstr("released 1.4.0"));
  EXPECT_EQ(show("TR-1").at("status"), "completed");
  EXPECT_EQ(show("AP-1").at("comment"), "ship it");
  // A repeated request, as the README describes it.
  const Outcome again = type(commands().at(1));
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("\"tool_run_id\":\"TR-1\""));
  const Outcome late = type(commands().at(4));
  EXPECT_NE(late.code, 0);
  EXPECT_THAT(late.out, HasSubstr("approval.already_resolved"));
  EXPECT_EQ(type("reeve runs").out.find("TR-2"), std::string::npos);
}

}  // namespace
}  // namespace reeve
