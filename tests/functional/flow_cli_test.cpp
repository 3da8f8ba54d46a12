#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// Workflows from the command line (SPEC §3, §7, UX).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Session;
using ::testing::StartsWith;
using testing::Words;

class FlowCli : public testing::FlowTest {
 protected:
  std::unique_ptr<Session> at_terminal(const Words& words) const {
    return start(words, Session::Ends::terminal, {{"NO_COLOR", "1"}, {"TERM", "xterm"}});
  }
  std::string read_pid() const {
    for (const testing::FoundProcess& process : processes()) {
      if (process.command.find(" serve ") != std::string::npos &&
          process.command.find(" guard ") == std::string::npos) {
        return std::to_string(process.pid);
      }
    }
    return "0";
  }
  // The changes in its lines: "a running", " completed" for the execution itself.
  static std::vector<std::string> changes_of(const std::string& out) {
    std::vector<std::string> changes;
    for (const std::string& line : testing::lines_of(out)) {
      std::vector<std::string> cells;
      std::size_t at = 0;
      while (at != std::string::npos) {
        const std::size_t tab = line.find('\t', at);
        cells.push_back(line.substr(at, tab == std::string::npos ? tab : tab - at));
        at = tab == std::string::npos ? tab : tab + 1;
      }
      if (cells.size() >= 4) changes.push_back(cells[2] + " " + cells[3]);
    }
    return changes;
  }
};

TEST_F(FlowCli, prints_one_line_per_change) {
  write_workflow("two", chain("two", {{"a", "echo hello"}, {"b", "noop"}}));
  const Outcome done = reeve({"flow", "run", "two"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(changes_of(done.out),
              ::testing::ElementsAre(" running", "a running", "a completed", "b running", "b completed", " completed"));
  EXPECT_THAT(done.err, HasSubstr("EX-1 completed"));
  EXPECT_THAT(show("EX-1")["nodes"], HasSubstr("hello"));
}

// SPEC §7: 0, 1, 90, 130.
TEST_F(FlowCli, exit_code_tells_how_the_execution_ended) {
  write_workflow("bad", chain("bad", {{"a", "echo 3 tests failed >&2; exit 3"}, {"b", "noop"}}));
  write_workflow("asks", chain("asks", {{"ok", "human Ship it?"}, {"b", "noop"}}));
  write_workflow("slow", chain("slow", {{"a", held_until("never")}}));
  const Outcome failed = reeve({"flow", "run", "bad"});
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("EX-1 failed: "), HasSubstr("reeve flow retry EX-1")));
  const Outcome waits = reeve({"flow", "run", "asks", "--no-wait"});
  EXPECT_EQ(waits.code, 90);
  EXPECT_THAT(waits.out, HasSubstr("\tok\tasks\tAP-1: Ship it?"));
  EXPECT_THAT(waits.err, HasSubstr("next: reeve show AP-1"));
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-2"), 0);
  const auto slow = start({"flow", "run", "slow"});
  slow->wait_for("\ta\trunning");
  const Outcome cancelled = reeve({"cancel", "EX-3", "--reason", "wrong branch"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_EQ(slow->wait(), 130);
  EXPECT_THAT(show("EX-3")["reason"], AllOf(HasSubstr("cancelled by "), HasSubstr("wrong branch")));
  EXPECT_EQ(reeve({"flow", "cancel", "EX-3"}).code, 4);
  EXPECT_EQ(reeve({"wait", "EX-3"}).code, 130);
  EXPECT_EQ(reeve({"flow", "show", "EX-77"}).code, 3);
  EXPECT_EQ(reeve({"flow", "show", "TR-1"}).code, 2);
}

// GRF-14
TEST_F(FlowCli, retry_resumes_at_the_failed_node) {
  write_workflow("w", chain("w", {{"a", "echo x >> count"}, {"b", "test -e mended"}, {"c", "noop"}}));
  EXPECT_EQ(reeve({"flow", "run", "w"}).code, 1);
  release("mended");
  const Outcome again = reeve({"flow", "retry", "ex-1"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "EX-1\trunning\n");
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_EQ(testing::read_text(project() / "count"), "x\n");
  EXPECT_EQ(reeve({"flow", "retry", "EX-1"}).code, 4);
  EXPECT_EQ(reeve({"flow", "retry", "EX-9"}).code, 3);
}

// SPEC §7: an invalid config is a usage error, whether a daemon runs or not.
TEST_F(FlowCli, invalid_config_exits_2_with_and_without_a_daemon) {
  write_workflow("two", chain("two", {{"a", "true"}, {"b", "noop"}}));
  const auto expect_refused = [&] {
    const Outcome refused = reeve({"flow", "run", "two"});
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_THAT(refused.err, AllOf(HasSubstr("error[config.invalid]: the config is not valid: /"),
                                   HasSubstr("fix: `reeve config show`")));
  };
  const std::string config = testing::read_text(project() / ".reeve/config.yaml");
  configure("toools: {}\n");
  expect_refused();
  configure(config);
  EXPECT_EQ(reeve({"flow", "run", "two"}).code, 0);
  configure("toools: {}\n");
  expect_refused();
}

// GRF-8
TEST_F(FlowCli, inputs_come_from_options_and_files) {
  scratch().write("project/in.json", R"({"goal":"from the file","depth":{"a":[1,2]}})");
  write_workflow("w", chain("w", {{"a", "echo \"{goal} {count} {depth}\""}}));
  const Outcome done = reeve({"flow", "run", "w", "--inputs", "in.json", "--input", "goal=a=b", "--input", "count:=3"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(show("EX-1")["inputs"], AllOf(HasSubstr(R"("goal":"a=b")"), HasSubstr(R"("count":3)")));
  scratch().write("project/list.json", "[1]");
  for (const Words& wrong : {Words{"--input", "goal"}, Words{"--input", "=x"}, Words{"--input", ":=1"},
                             Words{"--input", "n:=nothing"}, Words{"--inputs", "list.json"}}) {
    Words words = {"flow", "run", "w"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    const Outcome refused = reeve(words);
    EXPECT_EQ(refused.code, 2) << wrong.back();
    EXPECT_THAT(refused.err, StartsWith("error[cli.usage]")) << wrong.back();
  }
  EXPECT_EQ(reeve({"flow", "run", "w", "--inputs", "none.json"}).code, 3);
  EXPECT_EQ(testing::lines_of(reeve({"flow", "list"}).out).size(), 1);
}

// GRF-1: a missing role, gate, subgraph or file is refused before anything starts, all problems at once.
TEST_F(FlowCli, missing_references_are_reported_at_once_and_nothing_starts) {
  scratch().write("project/bad.yaml", R"(id: bad
name: Bad
entry_point: a
nodes:
  - {id: a, type: task, task_config: {role: codr}}
  - {id: b, type: gate, gate_config: {gate_type: lint}}
  - {id: c, type: subgraph, subgraph_config: {workflow_name: nowhere}}
edges:
  - {id: e1, source: a, target: b}
  - {id: e2, source: b, target: c}
)");
  const Outcome refused = reeve({"flow", "run", "bad.yaml"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(HasSubstr("error[flow.unknown_role]"), HasSubstr("did you mean `coder`?"),
                                 HasSubstr("error[flow.unknown_gate]"), HasSubstr("error[flow.unknown_subgraph]"),
                                 HasSubstr("bad.yaml:5:"), HasSubstr("Nothing was started.")));
  // With the source line, as `flow validate` shows it.
  EXPECT_THAT(refused.err, HasSubstr("task_config: {role: codr}"));
  EXPECT_THAT(refused.err, Not(HasSubstr(project().string())));
  write_workflow("release", chain("release", {{"a", "true"}}));
  const Outcome unknown = reeve({"flow", "run", "relaese"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("error[flow.not_found]"), HasSubstr("did you mean `release`?")));
  EXPECT_EQ(reeve({"flow", "run", "none.yaml"}).code, 3);
  EXPECT_EQ(reeve({"flow", "list"}).out, "");
}

// A role without a tool uses the only one; with none or several the start is refused with a fix.
TEST_F(FlowCli, role_without_a_tool_is_refused_with_a_fix) {
  write_workflow("inner", chain("inner", {{"x", "true"}}));
  scratch().write("project/outer.yaml", R"(id: outer
name: Outer
entry_point: s
nodes:
  - {id: s, type: subgraph, subgraph_config: {workflow_name: inner}}
edges: []
)");
  configure("tools: {}\n");
  // In a subgraph too.
  const Outcome none = reeve({"flow", "run", "outer.yaml"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, AllOf(HasSubstr("error[flow.role_without_tool]"), HasSubstr("inner.yaml")));
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\n  other: {command: [cat]}\n");
  EXPECT_THAT(reeve({"flow", "run", "outer.yaml"}).err, HasSubstr("other, sh"));
  configure("tools:\n  sh: {command: [sh, -c, \"{prompt}\"]}\n");
  EXPECT_EQ(reeve({"flow", "run", "outer.yaml"}).code, 0);
}

TEST_F(FlowCli, json_is_one_document_at_the_end) {
  write_workflow("w", chain("w", {{"a", "echo done"}}));
  const Outcome done = reeve({"flow", "run", "w", "--json", "--label", "nightly"});
  EXPECT_EQ(done.code, 0) << done.err;
  Members record = testing::parse_object(done.out).value_or(Members());
  EXPECT_EQ(record["status"], "completed");
  EXPECT_EQ(record["label"], "nightly");
  EXPECT_THAT(record["nodes"], HasSubstr("\"a\""));
  const Outcome refused = reeve({"flow", "run", "nothing", "--json"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_EQ(testing::parse_object(refused.out).value_or(Members())["code"], "flow.not_found");
  const Outcome graph = reeve({"run-graph", ".reeve/workflows/w.yaml", "--workflow-id", "W1", "--json"});
  EXPECT_EQ(graph.code, 0) << graph.err;
  EXPECT_EQ(testing::parse_object(graph.out).value_or(Members())["label"], "W1");
  EXPECT_THAT(reeve({"flow", "list", "--label", "W1"}).out, StartsWith("EX-2\tcompleted\tThe w\tW1\t"));
}

// S2: metadata that the caller wants to keep with the execution.
TEST_F(FlowCli, an_execution_keeps_its_phase_and_metadata) {
  write_workflow("w", chain("w", {{"a", "noop"}}));
  const Outcome run =
      reeve({"flow", "run", "w", "--meta", "ticket=A-1", "--meta", "by=x=y", "--phase", "coding", "--json"});
  EXPECT_EQ(run.code, 0) << run.err;
  Members record = testing::parse_object(run.out).value_or(Members());
  EXPECT_EQ(record["phase_name"], "coding");
  EXPECT_EQ(record["metadata"], R"({"by":"x=y","ticket":"A-1"})");
  EXPECT_THAT(reeve({"flow", "show", "EX-1"}).out,
              AllOf(HasSubstr("execution\tphase_name\tcoding\n"), HasSubstr("execution\tmeta.ticket\tA-1\n")));
  EXPECT_THAT(reeve({"flow", "list", "--json"}).out, HasSubstr(R"("phase_name":"coding")"));
  const Outcome graph =
      reeve({"run-graph", ".reeve/workflows/w.yaml", "--workflow-id", "W1", "--meta", "a=b", "--json"});
  EXPECT_EQ(testing::parse_object(graph.out).value_or(Members())["metadata"], R"({"a":"b"})");
  const Outcome wrong = reeve({"flow", "run", "w", "--meta", "ticket"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("--meta"), HasSubstr("NAME=VALUE")));
  EXPECT_EQ(reeve({"pipeline", "start", "x", "--prompt", "p", "--meta", "a=b"}).code, 2) << "where it would be dropped";
}

TEST_F(FlowCli, show_has_inputs_outputs_and_decisions) {
  write_workflow("w", chain("w", {{"a", "echo built"}, {"ok", "human Ship it?"}, {"c", "noop"}}));
  const std::string id = begin("w", {"--input", "goal=ship"});
  testing::eventually([&] { return reeve({"approve", "--yes", "AP-1", "--comment", "fine"}).code == 0; });
  EXPECT_EQ(wait_for(id), 0);
  const std::string shown = reeve({"show", id}).out;
  EXPECT_THAT(shown,
              AllOf(HasSubstr("execution\tworkflow_id\tw\n"), HasSubstr("execution\tinputs\t{\"goal\":\"ship\"}"),
                    HasSubstr("node\ta\ttask\tcompleted\t1\t0\tTR-1\t"), HasSubstr("built"),
                    HasSubstr("run\tTR-1\ta\tcompleted\t1\tsh -c 'echo built'"),
                    HasSubstr("approval\tAP-1\tok\tapproved\tapprove\t")));
  EXPECT_EQ(reeve({"flow", "show", "@last"}).out, shown);
  const std::string history = reeve({"flow", "show", id, "--json", "--history"}).out;
  EXPECT_THAT(history, AllOf(HasSubstr(R"("iterations":[])"), HasSubstr(R"("comment":"fine")")));
}

// GRF-15: graphs with live status.
TEST_F(FlowCli, graph_of_an_execution_shows_node_statuses) {
  write_workflow("w", chain("w", {{"a", "true"}, {"b", held_until("go")}, {"c", "noop"}}));
  const std::string id = begin("w");
  ASSERT_TRUE(testing::eventually([&] { return show(id)["nodes"].find("TR-2") != std::string::npos; }));
  const std::string text = reeve({"flow", "graph", id}).out;
  EXPECT_THAT(text, AllOf(StartsWith("EX-1  ● running\n"), HasSubstr("✓ completed"), HasSubstr("● running"),
                          HasSubstr("○ pending")));
  EXPECT_THAT(reeve({"flow", "graph", id, "--format", "mermaid"}).out,
              AllOf(StartsWith("---\n"), HasSubstr("style n0 stroke:"), Not(HasSubstr("style n2 stroke:"))));
  EXPECT_THAT(reeve({"flow", "graph", id, "--format", "dot"}).out, HasSubstr("color=\"#"));
  EXPECT_THAT(reeve({"flow", "graph", id, "--format", "list"}).out, StartsWith("EX-1  ● running\n"));
  EXPECT_EQ(reeve({"flow", "graph", "EX-9"}).code, 3);
  release("go");
  EXPECT_EQ(wait_for(id), 0);
}

TEST_F(FlowCli, overview_lists_waiting_and_failed_executions) {
  write_workflow("bad", chain("bad", {{"a", "exit 3"}}));
  write_workflow("asks", chain("asks", {{"ok", "human Ship it?"}}));
  EXPECT_EQ(reeve({"flow", "run", "bad"}).code, 1);
  EXPECT_EQ(reeve({"flow", "run", "asks", "--no-wait"}).code, 90);
  const std::string news = reeve({}).out;
  EXPECT_THAT(news, AllOf(HasSubstr("AP-1\tpending\tEX-2/ok"), HasSubstr("EX-1\tfailed\tThe bad")));
  // Its run is part of the execution and not listed separately.
  EXPECT_THAT(news, Not(HasSubstr("\nTR-1")));
  EXPECT_EQ(reeve({"reject", "AP-1"}).code, 0);
}

// A failed run that its workflow has handled needs no attention.
TEST_F(FlowCli, overview_omits_failures_that_were_retried) {
  write_workflow("again",
                 "id: again\nname: Again\nentry_point: a\nconfig: {isolation: none}\nnodes:\n"
                 "  - {id: a, type: task, task_config: {role: coder, retry: {attempts: 2, backoff: 10ms},\n"
                 "     task_template: 'test -e again || (touch again; exit 3)'}}\nedges: []\n");
  EXPECT_EQ(reeve({"flow", "run", "again"}).code, 0);
  EXPECT_THAT(reeve({"runs", "--status", "failed"}).out, HasSubstr("TR-1\tfailed"));
  EXPECT_EQ(reeve({}).out, "");
  const auto shown = at_terminal({"flow", "show", "EX-1"});
  EXPECT_EQ(shown->wait(), 0);
  EXPECT_THAT(shown->out(), AllOf(HasSubstr("before"), HasSubstr("TR-1 failed"), HasSubstr(" in runs)")));
}

// UX: the tree is redrawn in place, and questions are answered there.
TEST_F(FlowCli, terminal_shows_a_live_tree_and_accepts_answers) {
  write_workflow("w", chain("w", {{"build", held_until("go")}, {"ok", "human Ship it?"}, {"c", "noop"}}));
  const auto session = at_terminal({"flow", "run", "w"});
  session->wait_for("● build");
  session->wait_for("after build");
  release("go");
  session->wait_for("AP-1 EX-1/ok asks: Ship it?");
  // Input typed before the question could be read does not count (UX), so it is repeated until the question is shown.
  ASSERT_TRUE(testing::eventually([&] {
    session->type("x");
    return session->out().find("> x") != std::string::npos;
  }));
  session->type(
      "\x15"
      "7\r");
  session->wait_for("`7` is not one of the options");
  EXPECT_EQ(show("AP-1")["status"], "pending");
  session->resize(12, 50);
  session->type("1 looks fine\r");
  // Outside git, the task before it may have changed anything: medium risk.
  session->wait_for("Approve AP-1? [y/N]");
  session->type("y\r");
  EXPECT_EQ(session->wait(), 0) << session->out();
  Members approval = show("AP-1");
  EXPECT_EQ(approval["status"], "approved");
  EXPECT_EQ(approval["comment"], "looks fine");
  EXPECT_THAT(session->out(), HasSubstr("EX-1 completed"));
  EXPECT_EQ(session->modes().c_lflag, session->first_modes().c_lflag);
}

// UX: an execution can be watched again, and its questions answered there.
TEST_F(FlowCli, wait_on_a_terminal_shows_the_tree_and_earlier_questions) {
  write_workflow("asks", chain("asks", {{"ok", "human Ship it?"}, {"b", "noop"}}));
  EXPECT_EQ(reeve({"flow", "run", "asks", "--no-wait"}).code, 90);
  const auto session = at_terminal({"wait", "EX-1"});
  session->wait_for("AP-1 EX-1/ok asks: Ship it?");
  ASSERT_TRUE(testing::eventually([&] {
    session->type("x");
    return session->out().find("> x") != std::string::npos;
  }));
  session->type(
      "\x15"
      "1\r");
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_THAT(session->out(), HasSubstr("EX-1 completed"));
  // An execution that has ended is reported at once.
  const auto over = at_terminal({"wait", "EX-1"});
  EXPECT_EQ(over->wait(), 0);
  EXPECT_THAT(over->out(), HasSubstr("EX-1 completed"));
}

// Without a terminal, questions of the execution and its subgraphs are printed with the command that answers them.
TEST_F(FlowCli, wait_in_a_pipe_prints_the_questions) {
  write_workflow("asks", chain("asks", {{"ok", "human Ship it?"}, {"b", "noop"}}));
  write_workflow("outer",
                 "id: outer\nname: Outer\nentry_point: s\nconfig: {isolation: none}\nnodes:\n"
                 "  - {id: s, type: subgraph, subgraph_config: {workflow_name: asks}}\nedges: []\n");
  const std::string outer = begin("outer");
  const auto waiting = start({"wait", outer});
  ASSERT_TRUE(waiting->wait_for_error("asks: Ship it?   reeve approve AP-1\n")) << waiting->err();
  const auto json = start({"flow", "run", "asks", "--json"});
  ASSERT_TRUE(json->wait_for_error("asks: Ship it?   reeve approve AP-2\n")) << json->err();
  EXPECT_EQ(reeve({"approve", "--yes", "AP-1", "AP-2"}).code, 0);
  EXPECT_EQ(waiting->wait(), 0) << waiting->err();
  EXPECT_EQ(testing::count_of(waiting->err(), "asks:"), 1) << "what another execution asks is not told here";
  EXPECT_EQ(json->wait(), 0) << json->err();
  const auto lines = start({"flow", "run", "asks"});
  ASSERT_TRUE(lines->wait_for_error("asks: Ship it?   reeve approve AP-3\n")) << lines->err();
  EXPECT_EQ(reeve({"approve", "--yes", "AP-3"}).code, 0);
  EXPECT_EQ(lines->wait(), 0) << lines->err();
  EXPECT_EQ(testing::count_of(lines->err(), "reeve approve AP-3"), 1);
}

// GRF-1: errors that would prevent a start are reported by validate, for subgraphs too.
TEST_F(FlowCli, validate_warns_of_what_a_start_refuses) {
  write_workflow("two", chain("two", {{"a", "true"}}));
  write_workflow("outer",
                 "id: outer\nname: Outer\nentry_point: s\nconfig: {isolation: none}\nnodes:\n"
                 "  - {id: s, type: subgraph, subgraph_config: {workflow_name: two}}\nedges: []\n");
  EXPECT_THAT(reeve({"flow", "validate", "outer"}).err, Not(HasSubstr("warning[")));
  configure("roles: {sh: {}}\n");
  for (const char* name : {"two", "outer"}) {
    const Outcome checked = reeve({"flow", "validate", name});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_THAT(checked.err, AllOf(HasSubstr("warning[flow.role_without_tool]"), HasSubstr("two.yaml:"),
                                   HasSubstr("add a tool to the config")))
        << name;
    EXPECT_THAT(reeve({"flow", "validate", name, "--json"}).out, HasSubstr("flow.role_without_tool"));
    EXPECT_THAT(reeve({"flow", "run", name}).err, HasSubstr("error[flow.role_without_tool]"));
    EXPECT_THAT(reeve({"flow", "graph", name}).err, Not(HasSubstr("warning["))) << "a drawing needs no tool";
  }
  configure("tools: {sh: {command: [sh], headless: unsupported}}\nroles: {sh: {}}\n");
  EXPECT_THAT(reeve({"flow", "validate", "two"}).err, HasSubstr("warning[flow.headless_unsupported]"));
  EXPECT_THAT(reeve({"flow", "run", "two"}).err, HasSubstr("error[run.headless_unsupported]"));
}

// ORC-3
TEST_F(FlowCli, validate_warns_of_a_prompt_that_drops_the_task) {
  write_workflow("w", chain("w", {{"a", "true"}}));
  const std::string tool = "tools: {sh: {command: [sh, -c, '{prompt}']}}\n";
  configure(tool + "roles: {coder: {tool: sh, prompt: 'true'}}\n");
  const Outcome warned = reeve({"flow", "validate", "w"});
  EXPECT_EQ(warned.code, 0) << warned.err;
  EXPECT_THAT(warned.err, AllOf(HasSubstr("warning[flow.prompt_without_input]"), HasSubstr("prompt_takes_input")));
  EXPECT_THAT(reeve({"flow", "graph", "w"}).err, Not(HasSubstr("warning[")));
  EXPECT_THAT(reeve({"doctor"}).out,
              HasSubstr("prompts\twarn\tno `{input}`, so the task is appended: the role `coder`"));
  for (const char* meant : {"true", "false"}) {
    configure(tool + "roles: {coder: {tool: sh, prompt: 'true', prompt_takes_input: " + meant + "}}\n");
    EXPECT_THAT(reeve({"flow", "validate", "w"}).err, Not(HasSubstr("warning["))) << meant;
    EXPECT_THAT(reeve({"doctor"}).out, HasSubstr("prompts\tok\t")) << meant;
  }
}

// UX: workflows have the same names as in `flow run`.
TEST_F(FlowCli, workflow_is_drawn_and_validated_by_name) {
  write_workflow("two", chain("two", {{"a", "true"}, {"b", "noop"}}));
  EXPECT_EQ(reeve({"flow", "validate", "two"}).code, 0);
  EXPECT_THAT(reeve({"flow", "graph", "two"}).out, HasSubstr("noop"));
  EXPECT_EQ(reeve({"run-graph", "two", "--workflow-id", "W", "--validate-only"}).code, 0);
  const Outcome unknown = reeve({"flow", "graph", "something-else"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.err, HasSubstr("available: two"));
  EXPECT_THAT(reeve({"flow", "validate", "twoo"}).err, HasSubstr("did you mean `two`?"));
}

// UX: Ctrl-C stops watching; the execution continues.
TEST_F(FlowCli, ctrl_c_detaches_and_prints_how_to_resume) {
  write_workflow("w", chain("w", {{"build", held_until("go")}}));
  const auto session = at_terminal({"flow", "run", "w"});
  session->wait_for("● build");
  session->type("\x03");
  EXPECT_EQ(session->wait(), 130);
  EXPECT_THAT(session->out(), HasSubstr("EX-1 continues; to watch it again: reeve wait EX-1"));
  EXPECT_EQ(session->modes().c_lflag, session->first_modes().c_lflag);
  const auto lines = start({"flow", "run", "w"});
  lines->wait_for("\tbuild\trunning");
  lines->signal(SIGINT);
  EXPECT_EQ(lines->wait(), 130);
  EXPECT_THAT(lines->err(), HasSubstr("EX-2 continues"));
  release("go");
  EXPECT_EQ(reeve({"wait", "EX-1", "EX-2"}).code, 0);
}

// GRF-13: the daemon dies while a client watches; nothing is printed twice or left out.
TEST_F(FlowCli, reconnects_after_a_killed_daemon_and_prints_each_change_once) {
  write_workflow("w", chain("w", {{"a", held_until("one")}, {"b", held_until("two")}, {"c", "noop"}}));
  const auto lines = start({"flow", "run", "w"});
  lines->wait_for("\ta\trunning");
  const std::string daemon = read_pid();
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(daemon)), SIGKILL), 0);
  release("one");
  lines->wait_for("\tb\trunning");
  release("two");
  EXPECT_EQ(lines->wait(), 0) << lines->err();
  EXPECT_THAT(changes_of(lines->out()),
              ::testing::ElementsAre(" running", "a running", "a completed", "b running", "b completed", "c running",
                                     "c completed", " completed"));
}

// RUN-6, APR-1: the question of a task's tool is answered in the tree too, and the node continues.
TEST_F(FlowCli, question_of_a_tool_is_answered_in_the_tree) {
  scratch().write("project/ask.sh", R"(if [ -n "$REEVE_APPROVAL_ID" ]; then echo "got $AUTO_APPROVAL"; exit 0; fi
echo '{"event":"approval_needed","question":"Push it?"}'; exit 90
)");
  write_workflow("w", chain("w", {{"push", "sh ./ask.sh"}}));
  const auto session = at_terminal({"flow", "run", "w"});
  session->wait_for("AP-1 asks: Push it?");
  session->wait_for("asks: Push it?");
  ASSERT_TRUE(testing::eventually([&] {
    session->type("1");
    return session->out().find("> 1") != std::string::npos;
  }));
  session->type(
      "\x15"
      "1\r");
  session->wait_for("Approve AP-1? [y/N]");
  session->type("y\r");
  EXPECT_EQ(session->wait(), 0) << session->out();
  EXPECT_THAT(show("EX-1")["nodes"], HasSubstr("got approve"));
}

TEST_F(FlowCli, task_cannot_start_a_workflow) {
  write_workflow("inner", chain("inner", {{"x", "noop"}}));
  write_workflow("w", chain("w", {{"a", testing::reeve_binary() + " flow run inner > said 2>&1; echo $? >> said"}}));
  EXPECT_EQ(reeve({"flow", "run", "w"}).code, 0);
  EXPECT_THAT(testing::read_text(project() / "said"), AllOf(HasSubstr("execution.inside_run"), HasSubstr("\n5\n")));
  EXPECT_EQ(testing::lines_of(reeve({"flow", "list"}).out).size(), 1);
}

}  // namespace
}  // namespace reeve
