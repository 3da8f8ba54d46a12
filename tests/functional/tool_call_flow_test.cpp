#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// Tool calls of the agents of a workflow: their roles, worktrees and executions (TOOL-1, TOOL-4, TOOL-8).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;
using testing::Words;

class ToolCallFlow : public testing::ToolCallsTest {
 protected:
  ToolCallFlow() {
    const std::string file = script("functions.sh", functions());
    functions_ = ". " + file;
    for (const Words& words :
         {Words{"init", "-q"}, Words{"config", "user.name", "Ana"}, Words{"config", "user.email", "ana@example.org"},
          Words{"commit", "-q", "--allow-empty", "-m", "first"}}) {
      git(words);
    }
    configure(
        "tools:\n"
        "  sh: {command: [sh, -c, \"{prompt}\"], resume: live}\n"
        "roles:\n"
        "  coder: {tool: sh}\n"
        "  witness: {tool: sh}\n"
        "policies:\n"
        "  tools: {probe: auto_approve, guarded: deny}\n"
        "  roles:\n"
        "    coder: {file_write: {policy: auto_approve, when: {path: 'free/**'}}}\n"
        "    witness: {probe: deny}\n");
  }
  void git(Words words) const {
    words.insert(words.begin(), "git");
    const Outcome outcome = testing::run_program(
        {.argv = words,
         .folder = project(),
         .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", (scratch().path() / "home").string()}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
  // Starts a workflow of these nodes in sequence, each a role and a script in a file; returns the execution.
  struct Node {
    std::string role;
    std::string script;
  };
  std::string begin_flow(const std::vector<Node>& nodes) const {
    std::string text;
    std::string edges;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::string file = script(fmt::format("node{}.sh", i), functions_ + "\n" + nodes[i].script);
      text += fmt::format("  - {{id: n{}, type: task, task_config: {{role: {}, task_template: 'sh {}'}}}}\n", i,
                          nodes[i].role, file);
      if (i > 0) edges += fmt::format("  - {{id: e{}, source: n{}, target: n{}}}\n", i, i - 1, i);
    }
    scratch().write("project/.reeve/workflows/calls.yaml",
                    fmt::format("id: calls\nname: Calls\nentry_point: n0\nnodes:\n{}edges:{}{}", text,
                                edges.empty() ? " []\n" : "\n", edges));
    const Outcome started = reeve({"flow", "run", "calls", "--detach"});
    EXPECT_EQ(started.code, 0) << started.err;
    return started.out.substr(0, started.out.find('\n'));
  }
  void expect_flow_completed(const std::string& id) const {
    EXPECT_EQ(reeve({"wait", id}).code, 0);
    EXPECT_EQ(show(id)["status"], "completed");
  }

  std::string functions_;
};

// TOOL-1: the role's rules, then the tool's, then the defaults.
TEST_F(ToolCallFlow, role_of_the_agent_decides) {
  const std::string flow = begin_flow({{"coder", "act c1 probe '{}'; act c2 guarded '{}'; true"},
                                       {"witness", "act c3 probe '{}'; act c4 file_write '{\"path\":\"a\"}'; true"}});
  expect_flow_completed(flow);
  EXPECT_THAT(executed(), ::testing::ElementsAre("c1"));
  EXPECT_EQ(call_of("TR-1", "c1")["rule"], "policies.tools.probe");
  EXPECT_EQ(call_of("TR-1", "c2")["rule"], "policies.tools.guarded");
  EXPECT_EQ(call_of("TR-2", "c3")["rule"], "policies.roles.witness.probe");
  EXPECT_EQ(call_of("TR-2", "c4")["rule"], "default of the role witness");
}

// TOOL-4: the worktree of its node is the agent's, not the user's checkout.
TEST_F(ToolCallFlow, hosted_calls_are_confined_to_the_worktree_of_the_node) {
  const std::string target = (project() / "free/b").string();
  const std::string flow =
      begin_flow({{"coder",
                   "mkdir free; call c1 file_write '{\"path\":\"free/a\",\"content\":\"x\"}' --execute\n"
                   "call c2 file_write '{\"path\":\"" +
                       target + "\",\"content\":\"x\"}' --execute; true"}});
  const std::string question = wait_for_question("TR-1");
  EXPECT_EQ(call_of("TR-1", "c2")["rule"], "default");
  EXPECT_EQ(approve(question).code, 0);
  expect_flow_completed(flow);
  EXPECT_EQ(call_of("TR-1", "c1")["outcome"], "ran");
  EXPECT_EQ(call_of("TR-1", "c2")["outcome"], "failed");
  EXPECT_FALSE(fs::exists(target));
}

// TOOL-8: paths are relative to the worktree of each node.
TEST_F(ToolCallFlow, grant_for_the_execution_covers_its_other_runs_only) {
  const auto write = [](const std::string& id, const std::string& path) {
    return "act " + id + " file_write '{\"path\":\"" + path + "\",\"content\":\"x\"}' --once; true\n";
  };
  const std::string flow =
      begin_flow({{"coder", "act first file_write '{\"path\":\"docs/a\",\"content\":\"x\"}'; true"},
                  {"coder", write("c2", "docs/b") + write("c3", "src/b")}});
  const Outcome made =
      approve(wait_for_question("TR-1"), {"--always", "--for", "execution", "--match", "path=docs/**"});
  EXPECT_EQ(made.code, 0) << made.err;
  expect_flow_completed(flow);
  EXPECT_EQ(call_of("TR-2", "c2")["rule"], "GR-1");
  EXPECT_EQ(call_of("TR-2", "c3")["decision"], "ask");
  const std::string other = begin_flow({{"coder", write("c4", "docs/c")}});
  expect_flow_completed(other);
  EXPECT_EQ(call_of("TR-3", "c4")["decision"], "ask");
}

// RUN-18: the node waits with its run, and the next attempt finds the changes of the first.
TEST_F(ToolCallFlow, node_waits_for_the_end_of_a_usage_limit) {
  const std::string flow = begin_flow(
      {{"coder",
        "if [ $REEVE_ATTEMPT = 1 ]; then echo kept > kept\n"
        "post report \"{\\\"event\\\":\\\"outcome\\\",\\\"outcome\\\":\\\"limited\\\",\\\"reason\\\":\\\"weekly\\\","
        "\\\"resets_at\\\":\\\"$(date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ)\\\"}\"\nexit 1; fi\n" +
            effect("$(cat kept)")}});
  wait_for_status("TR-1", "queued");
  EXPECT_EQ(show("TR-1")["outcome"], "limited");
  EXPECT_EQ(show(flow)["status"], "running");
  kill_daemon();
  expect_flow_completed(flow);
  EXPECT_EQ(show("TR-1")["attempt"], "2");
  EXPECT_THAT(executed(), ::testing::ElementsAre("kept"));
}

// AGT-5: another attempt would pass the gate again.
TEST_F(ToolCallFlow, node_of_an_ungated_agent_fails_without_a_retry) {
  const std::string flow = begin_flow(
      {{"coder", "post report '{\"event\":\"outcome\",\"outcome\":\"ungated\",\"reason\":\"it did not ask\"}'"}});
  EXPECT_NE(reeve({"wait", flow}).code, 0);
  EXPECT_EQ(show(flow)["status"], "failed");
  EXPECT_EQ(show("TR-1")["outcome"], "ungated");
}

}  // namespace
}  // namespace reeve
