#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// What a task of a workflow receives and returns (SPEC §3), with the built daemon.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class Flow : public testing::ScriptedFlowTest {
 protected:
  // A tool that prints each of its arguments in angle brackets, and a role that uses it.
  void settle_arguments(const std::string& command, const std::string& role) const {
    const std::string file = script("arguments.sh", "for word; do printf '<%s>\\n' \"$word\"; done");
    settle({.tools = fmt::format("  arguments: {{command: [/bin/sh, {}, {}]}}", file, command),
            .roles = fmt::format("  coder: {{tool: arguments, {}}}", role)});
  }
  static std::string task(const std::string& id, const std::string& role, const std::string& words) {
    return node(id, fmt::format("task, task_config: {{role: {}, task_template: \"{}\"}}", role, words));
  }
  static std::string noop(const std::string& id) { return node(id, "task, task_config: {role: noop}"); }
};

// GRF-8
TEST_F(Flow, role_provides_tool_prompt_and_model_settings) {
  settle_arguments(R"("--model={model}", "{temperature}", "{max_tokens}", "{goal}", "{prompt}")",
                   R"(prompt: "Do this: {input} for {who}", model: m-1, temperature: 0.5, max_tokens: 900)");
  const Members ended =
      run_flow(workflow(task("a", "coder", "build {goal}"), ""), {"--input", "goal=a house", "--input", "who=Ana"});
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(outputs_of(ended, "a")["text"],
            "<--model=m-1>\n<0.5>\n<900>\n<a house>\n<Do this: build a house for Ana>\n");
}

// GRF-8: values never pass through a shell, and placeholders inside a value are not expanded.
TEST_F(Flow, a_value_is_one_argument_whatever_is_in_it) {
  settle_arguments(R"("{prompt}", "{goal}")", R"(prompt: "{input}", model: m-1)");
  const std::string nasty = "a 'b' \"c\"\n$(touch pwned) `touch pwned`; touch pwned {prompt} {input} {model} {{ %s \\n";
  const Members ended = run_flow(workflow(task("a", "coder", "[{goal}]"), ""), {"--input", "goal=" + nasty});
  EXPECT_EQ(outputs_of(ended, "a")["text"], "<[" + nasty + "]>\n<" + nasty + ">\n");
  EXPECT_FALSE(fs::exists(project() / "pwned"));
}

// GRF-8
TEST_F(Flow, input_is_all_inputs_as_json) {
  settle_arguments(R"("{prompt}")", R"(prompt: "{input}")");
  const Members ended = run_flow(workflow(task("a", "coder", "{input}"), ""),
                                 {"--input", "goal=x", "--input", "n:=3", "--input", "list:=[1,true]"});
  EXPECT_EQ(outputs_of(ended, "a")["text"], "<{\"goal\":\"x\",\"n\":3,\"list\":[1,true]}>\n");
}

// GRF-8: outputs reach the next node as `field` and as `node.field`; `data_mapping` renames them.
TEST_F(Flow, outputs_of_a_node_reach_the_next_node) {
  settle_arguments(R"("{prompt}")", R"(prompt: "{input}")");
  const std::string flow = workflow(shell("a", R"(printf '{"verdict": "good", "deep": {"n": 7}}' >$REEVE_OUTPUT)") +
                                        task("b", "coder", "{verdict} {a.verdict} {a.exit_code} {deep.n} {{x}}") +
                                        task("c", "coder", "{was} {input}"),
                                    "  - {id: e1, source: a, target: b}\n"
                                    "  - {id: e2, source: b, target: c, data_mapping: {was: text, code: exit_code}}\n");
  const Members ended = run_flow(flow);
  EXPECT_EQ(outputs_of(ended, "b")["text"], "<good good 0 7 {x}>\n");
  EXPECT_THAT(outputs_of(ended, "c")["text"], AllOf(HasSubstr("<<good good 0 7 {x}>"), HasSubstr(R"("code":0)")));
}

// S6 `run_role`
TEST_F(Flow, task_can_set_tool_files_and_context) {
  settle({.tools = "  say: {command: [/bin/echo, \"{prompt}\"]}\n  other: {command: [/bin/echo, other, \"{prompt}\"]}",
          .roles = "  coder: {tool: say}"});
  const auto with = [](const std::string& tool) {
    return workflow(
        node("a", "task, task_config: {role: coder, " + tool +
                      "task_template: Mend it, target_files: [src/a.c, b.c], extra_context: {style: short}}"),
        "");
  };
  EXPECT_THAT(refuse_flow(with("tool: othr, ")).err, AllOf(HasSubstr("flow.unknown_tool"), HasSubstr("`other`")));
  const std::string told = "Mend it\n\nTarget files:\nsrc/a.c\nb.c\n\nExtra context:\nstyle: short\n";
  EXPECT_EQ(outputs_of(run_flow(with("")), "a")["text"], told);
  EXPECT_EQ(outputs_of(run_flow(with("tool: other, ")), "a")["text"], "other " + told);
}

// SPEC §7: a tool whose command has no `{prompt}` gets the prompt on its standard input.
TEST_F(Flow, prompt_without_placeholder_goes_to_stdin) {
  settle({.tools = "  reader: {command: [/bin/cat]}", .roles = "  coder: {tool: reader, prompt: 'read: {input}'}"});
  const Members ended = run_flow(workflow(task("a", "coder", "{goal}"), ""), {"--input", "goal=it's $HOME"});
  EXPECT_EQ(outputs_of(ended, "a")["text"], "read: it's $HOME");
}

// GRF-8
TEST_F(Flow, unknown_field_fails_the_node_and_lists_the_known_ones) {
  const Members ended =
      run_flow(workflow(shell("a", mark("a")) + task("b", "shell", "{goal} {golf}") + noop("c"), edges("a>b, b>c")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "b")["error"],
              AllOf(HasSubstr("{goal} is not available to this node"), HasSubstr("{input}"), HasSubstr("{exit_code}")));
  EXPECT_EQ(status_of(ended, "c"), "cancelled");
  EXPECT_THAT(ended.at("reason"), HasSubstr("b"));
  EXPECT_EQ(history(ended.at("execution_id"), "runs").size(), 1U) << "b never had a run";
}

// A placeholder of the command that neither role nor inputs define is not passed on literally.
TEST_F(Flow, missing_role_setting_fails_the_node) {
  settle_arguments(R"("--model={model}", "{prompt}", "{other} stays {")", R"(prompt: "{input}")");
  const std::string flow = workflow(task("a", "coder", "go"), "");
  const Members failed = run_flow(flow);
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_THAT(node_of(failed, "a")["error"], AllOf(HasSubstr("{model}"), HasSubstr("roles: {coder: {model: ")));
  const Members given = run_flow(flow, {"--input", "model=m-2"});
  EXPECT_EQ(outputs_of(given, "a")["text"], "<--model=m-2>\n<go>\n<{other} stays {>\n");
}

TEST_F(Flow, overlong_prompt_argument_is_reported_before_the_start) {
  settle({.tools = "  reader: {command: [/usr/bin/wc, -c]}", .roles = "  coder: {tool: reader}"});
  const std::string inputs = scratch().write("inputs.json", "{\"goal\": \"" + std::string(200'000, 'x') + "\"}");
  const Members failed = run_flow(workflow(task("a", "shell", "{goal}"), ""), {"--inputs", inputs});
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_THAT(node_of(failed, "a")["error"],
              AllOf(HasSubstr("would be 200000 bytes long"), HasSubstr("leave `{prompt}` out")));
  const Members read = run_flow(workflow(task("a", "coder", "{goal}"), ""), {"--inputs", inputs});
  EXPECT_EQ(outputs_of(read, "a")["text"], "200000\n");
}

// RUN-3: the most specific limit wins.
TEST_F(Flow, most_specific_time_limit_wins) {
  settle({.tools = "  hasty: {command: [/bin/sh, -c, '{prompt}'], timeout: 200ms, kill_grace: 100ms}",
          .roles = "  hasty: {tool: hasty}\n  patient: {tool: hasty, timeout: 1h}"});
  const auto nap = [](const std::string& role, const std::string& more) {
    return workflow(node("a", fmt::format("task, task_config: {{role: {}, task_template: 'sleep 0.7{}'{}}}", role,
                                          more.empty() ? "" : " # ", more.empty() ? "" : ", " + more)),
                    "");
  };
  const Members tool = run_flow(nap("hasty", ""));
  EXPECT_EQ(tool.at("status"), "failed");
  EXPECT_THAT(node_of(tool, "a")["error"], HasSubstr("failed_timeout"));
  EXPECT_EQ(run_flow(nap("patient", "")).at("status"), "completed");
  const Members near = run_flow(nap("patient", "timeout: 200ms"));
  EXPECT_THAT(node_of(near, "a")["error"], HasSubstr("failed_timeout"));
  EXPECT_EQ(run_flow(nap("hasty", "timeout: off")).at("status"), "completed");
}

// RUN-8
TEST_F(Flow, task_environment_has_its_ids_and_passed_variables_only) {
  settle({.tools = "  passing: {command: [/bin/sh, -c, '{prompt}'], pass_env: [WANTED]}",
          .roles = "  passing: {tool: passing}"});
  const std::string flow =
      workflow(task("a", "passing", "echo $REEVE_EXECUTION_ID $REEVE_NODE_ID $HEADLESS [$WANTED] [$OTHER] $PWD"), "");
  const std::string id = start_flow(flow, {}, {{"WANTED", "here"}, {"OTHER", "hidden"}});
  EXPECT_EQ(outputs_of(end_of(id), "a")["text"], fmt::format("{} a 1 [here] [] {}\n", id, project().string()));
}

TEST_F(Flow, noop_task_completes_with_its_inputs) {
  const Members ended = run_flow(workflow(noop("a") + noop("b"), edges("a>b")), {"--input", "goal=x"});
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(outputs_of(ended, "a"), (Members{{"goal", "x"}}));
  EXPECT_EQ(outputs_of(ended, "b"), (Members{{"goal", "x"}, {"a.goal", "x"}}));
  EXPECT_TRUE(history(ended.at("execution_id"), "runs").empty());
}

// GRF-9
TEST_F(Flow, task_outputs_have_text_and_reported_fields) {
  const Members ended =
      run_flow(workflow(shell("a", R"(echo one; echo two >&2; echo; printf '{"files": 3, "from": "file"}' >$REEVE_OUTPUT
echo '{"event": "result", "data": {"from": "event", "score": 0.5}}'; echo last words; echo)"),
                        ""));
  Members outputs = outputs_of(ended, "a");
  EXPECT_EQ(outputs["status"], "completed");
  EXPECT_EQ(outputs["exit_code"], "0");
  EXPECT_EQ(outputs["summary"], "last words");
  EXPECT_THAT(outputs["text"], AllOf(HasSubstr("one\n"), HasSubstr("two\n"), HasSubstr("last words\n")));
  EXPECT_EQ(outputs["files"], "3");
  EXPECT_EQ(outputs["score"], "0.5");
  EXPECT_EQ(outputs["from"], "event");
}

// GRF-9: only the end of a long output is kept, in whole characters.
TEST_F(Flow, long_output_is_cut_to_its_end) {
  const Members ended = run_flow(
      workflow(shell("a", "echo begin; i=0; while [ $i -lt 4000 ]; do echo äöüß; i=$((i+1)); done; echo end"), ""));
  const std::string text = outputs_of(ended, "a")["text"];
  EXPECT_LE(text.size(), 16U * 1024);
  EXPECT_GT(text.size(), 15U * 1024);
  EXPECT_TRUE(text.ends_with("äöüß\nend\n"));
  EXPECT_THAT(text, Not(HasSubstr("begin")));
  EXPECT_THAT(text, Not(HasSubstr("\xEF\xBF\xBD")));
}

// GRF-9
TEST_F(Flow, invalid_result_is_reported_and_does_not_fail_the_task) {
  const Members ended = run_flow(
      workflow(shell("list", "printf '[1, 2]' >$REEVE_OUTPUT") + shell("broken", "printf '{\"a\": ' >$REEVE_OUTPUT") +
                   shell("large", "head -c 300000 /dev/zero | tr '\\0' 1 >$REEVE_OUTPUT") +
                   shell("link", "ln -s /etc/hostname $REEVE_OUTPUT") + shell("pipe", "mkfifo $REEVE_OUTPUT"),
               edges("list>broken, broken>large, large>link, link>pipe")));
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(outputs_of(ended, "list")["result"], "[1,2]");
  EXPECT_THAT(outputs_of(ended, "broken")["result_error"], HasSubstr("not valid JSON"));
  EXPECT_THAT(outputs_of(ended, "large")["result_error"], HasSubstr("too large"));
  EXPECT_THAT(outputs_of(ended, "link")["result_error"], HasSubstr("cannot be read"));
  EXPECT_THAT(outputs_of(ended, "pipe")["result_error"], HasSubstr("not a regular file"));
}

// LOG-4
TEST_F(Flow, secrets_reach_neither_outputs_nor_the_store) {
  settle({.tools = "  knowing: {command: [/bin/sh, -c, '{prompt}'], pass_env: [MY_TOKEN]}",
          .roles = "  knowing: {tool: knowing}",
          .gates = "  telling: {command: [/bin/sh, -c, 'echo $GATE_TOKEN; exit 1'], env: {GATE_TOKEN: gate-s3cret}}"});
  const std::string flow = workflow(
      task("printed", "knowing", "echo it is $MY_TOKEN") +
          task("filed", "knowing", "printf '[\\\"%s\\\"]' $MY_TOKEN >$REEVE_OUTPUT") +
          task("told", "knowing",
               "printf '{{\\\"event\\\":\\\"result\\\",\\\"data\\\":{{\\\"t\\\":\\\"%s\\\"}}}}\\\\n' $MY_TOKEN") +
          node("gate", "gate, gate_config: {gate_type: telling}"),
      edges("printed>filed, filed>told, told>gate"));
  const std::string id = start_flow(flow, {}, {{"MY_TOKEN", "t0p-s3cret"}});
  const Members ended = end_of(id);
  EXPECT_EQ(outputs_of(ended, "printed")["text"], "it is ***\n");
  EXPECT_EQ(outputs_of(ended, "printed")["summary"], "it is ***");
  EXPECT_EQ(outputs_of(ended, "filed")["result"], "[\"***\"]");
  EXPECT_EQ(outputs_of(ended, "told")["t"], "***");
  EXPECT_EQ(status_of(ended, "gate"), "failed");
  const std::string stored = sql("SELECT group_concat(coalesce(outputs, '')) FROM node_executions");
  EXPECT_THAT(stored, AllOf(HasSubstr("***"), Not(HasSubstr("s3cret"))));
}

// GRF-1: refused before anything starts, with all problems at once.
TEST_F(Flow, missing_references_are_reported_at_once_and_nothing_starts) {
  const Outcome refused =
      refuse_flow(workflow(task("a", "nobody", "x") + node("b", "gate, gate_config: {gate_type: no_gate}") +
                               node("c", "subgraph, subgraph_config: {workflow_name: no_flow}") +
                               node("d", "task, task_config: {role: shell, gates: [neither]}"),
                           edges("a>b, b>c, c>d")));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("unknown_role"), HasSubstr("nobody"), HasSubstr("no_gate"),
                                 HasSubstr("no_flow"), HasSubstr("neither"), HasSubstr("Nothing was started.")));
}

TEST_F(Flow, role_without_a_tool_is_refused_unless_only_one_exists) {
  const std::string flow = workflow(task("a", "planner", "echo planned"), "");
  EXPECT_EQ(outputs_of(run_flow(flow), "a")["text"], "planned\n") << "the only tool there is";
  reeve({"stop"});
  fs::remove_all(state());
  settle({.tools = "  other: {command: [/bin/true]}"});
  EXPECT_THAT(refuse_flow(flow).err, AllOf(HasSubstr("role_without_tool"), HasSubstr("roles: {planner: {tool: ")));
  settle({.tools = "  other: {command: [/bin/true], headless: unsupported}", .roles = "  planner: {tool: other}"});
  EXPECT_THAT(refuse_flow(flow).err, AllOf(HasSubstr("headless"), HasSubstr("node `a`")));
}

TEST_F(Flow, missing_file_or_workflow_name_is_reported) {
  write_flow(
      "{id: release, name: Ship it, entry_point: a, nodes: [{id: a, type: task, task_config: {role: noop}}], edges: "
      "[]}",
      "out.yaml");
  const Outcome file = reeve({"flow", "run", "nowhere.yaml"});
  EXPECT_EQ(file.code, 3) << file.err;
  EXPECT_THAT(file.err, HasSubstr("nowhere.yaml"));
  const Outcome name = reeve({"flow", "run", "releese"});
  EXPECT_EQ(name.code, 3) << name.err;
  EXPECT_THAT(name.err, HasSubstr("did you mean `release`?"));
  for (const char* word : {"release", "Ship it", "out"}) EXPECT_EQ(reeve({"flow", "run", word}).code, 0) << word;
}

// SPEC §7: the config is frozen for an execution when it starts.
TEST_F(Flow, execution_uses_the_config_it_started_with) {
  settle({.roles = "  first: {tool: shell, prompt: 'echo first'}"});
  const std::string id = start_flow(
      workflow(node("ask", "human, human_config: {title: Go on?}") + task("b", "first", ""), edges("ask>b")));
  const std::string question = question_at(id, "ask");
  settle({.roles = "  first: {tool: shell, prompt: 'echo second'}"});
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(outputs_of(end_of(id), "b")["text"], "first\n");
}

}  // namespace
}  // namespace reeve
