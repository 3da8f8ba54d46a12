#include "runtime/executions/node_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/parse.h"

namespace reeve::runtime {
namespace {

using base::TimeLimit;
using base::Value;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Value inputs_of(std::string_view text) { return json::parse(text).value(); }

class NodePlan : public ::testing::Test {
 protected:
  NodePlan() {
    settings_.project = "/project";
    settings_.environment = {{"PATH", "/bin"}, {"API_KEY", "k3y"}, {"OTHER", "x"}};
    model::ToolProfile agent;
    agent.command = {"agent", "-p", "{prompt}"};
    agent.timeout = TimeLimit::of(seconds(10));
    agent.pass_env = {"API_KEY"};
    settings_.tools = {{"agent", agent}};
    node_.id = "build";
    node_.task_config = model::TaskConfig{.role = "coder", .timeout = {}, .worktree_id = {}, .retry = {}};
  }
  model::TaskConfig& task() { return *node_.task_config; }
  model::Role& role() { return settings_.roles["coder"]; }
  model::ToolProfile& agent() { return settings_.tools.at("agent"); }
  RunPlan plan(std::string_view inputs = "{}", std::optional<std::string> feedback = {}) const {
    auto made = plan_task(settings_, node_, inputs_of(inputs), {.folder = "/work", .feedback = std::move(feedback)});
    EXPECT_TRUE(made) << (made ? "" : made.error().message());
    return made.value_or(RunPlan());
  }
  base::Error refusal(std::string_view inputs = "{}") const {
    const auto made = plan_task(settings_, node_, inputs_of(inputs), {.folder = "/work"});
    EXPECT_FALSE(made);
    return made ? base::Error({}, "") : made.error();
  }
  std::string order(const std::vector<std::string>& gates) const {
    const auto ordered = order_gates(settings_, gates);
    if (!ordered) return ordered.error().code();
    std::string text;
    for (const std::string& gate : *ordered) text += (text.empty() ? "" : " ") + gate;
    return text;
  }

  ExecutionSettings settings_;
  model::Node node_;
};

// GRF-8: nodes that pass their inputs on name every value again; a prompt contains each once.
TEST(Expand, input_contains_each_value_once) {
  EXPECT_EQ(expand("{input}", inputs_of(R"({"text":"A","ask.text":"A","fork.text":"A","a.text":"A","approved":true,)"
                                        R"("ask.approved":true})")),
            R"({"text":"A","approved":true})");
  // A value that another one hides keeps the name of the node that produced it.
  EXPECT_EQ(expand("{input}", inputs_of(R"({"text":"B","join.text":"A","a.text":"A","b.text":"B"})")),
            R"({"text":"B","a.text":"A"})");
  EXPECT_EQ(expand("{a.text}", inputs_of(R"({"text":"A","a.text":"A"})")), "A") << "single names stay available";
}

// TOOL-1: a node's calls are decided by the policies of its execution, for its role.
TEST_F(NodePlan, has_the_call_terms_of_its_role) {
  settings_.policies.tools["file_write"] = {{model::Policy::auto_approve, {}}};
  settings_.policies.roles["coder"]["git_commit"] = {{model::Policy::deny, {}}};
  settings_.agents.fallback_tools["Grep"] = {"search_files"};
  const RunPlan made = plan();
  EXPECT_EQ(made.calls.policies, settings_.policies);
  EXPECT_EQ(made.calls.agents, settings_.agents);
  EXPECT_EQ(made.calls.role, "coder");
}

// GRF-8
TEST(Expand, replaces_fields_and_unescapes_doubled_braces) {
  const Value inputs = inputs_of(R"({"goal": "a {b}", "n": 3, "plan.text": "flat", "deep": {"x": [1, null]}})");
  EXPECT_EQ(expand("{goal}/{n}/{plan.text}/{deep.x}/{{n}}", inputs), "a {b}/3/flat/[1,null]/{n}");
  EXPECT_EQ(expand("", inputs), "");
  EXPECT_EQ(expand("{input}", inputs_of(R"({"a": 1})")), R"({"a":1})") << "all of it, as JSON";
  EXPECT_EQ(expand("{input}", inputs, "the task"), "the task") << "the given replacement";
  EXPECT_EQ(expand("{input}", inputs_of(R"({"input": "given"})")), "given") << "an input with that name";
}

// GRF-8: an unknown name is reported with the available names.
TEST(Expand, unknown_field_is_refused_with_the_known_names) {
  const auto unknown = expand("{goal} {gaol}", inputs_of(R"({"goal": 1, "not a name": 2})"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), "node.unknown_name");
  EXPECT_THAT(unknown.error().message(), HasSubstr("{gaol}"));
  EXPECT_THAT(unknown.error().fix(), AllOf(HasSubstr("{input}, {goal}"), Not(HasSubstr("not a name"))));
  const auto broken = expand("{goal", inputs_of("{}"));
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code(), "node.bad_template");
}

// GRF-8: the expanded task is the role's {input}, the expanded prompt the tool's {prompt}.
TEST_F(NodePlan, expanded_task_is_one_argument) {
  task().task_template = "build {goal}";
  role().prompt = "You are careful. {input} ({goal})";
  const RunPlan made = plan(R"({"goal": "it; rm -rf / {prompt} $(x)\n\"'"})");
  EXPECT_THAT(made.argv, ElementsAre("agent", "-p",
                                     "You are careful. build it; rm -rf / {prompt} $(x)\n\"' (it; rm -rf / {prompt} "
                                     "$(x)\n\"')"));
  EXPECT_EQ(made.tool, "agent");
  EXPECT_EQ(made.cwd, "/work");
  EXPECT_EQ(made.node, "build");
  EXPECT_FALSE(made.prompt);
  EXPECT_TRUE(made.may_ask);
}

TEST_F(NodePlan, prompt_without_placeholder_goes_to_stdin) {
  agent().command = {"agent"};
  const RunPlan made = plan(R"({"goal": "x"})");
  EXPECT_THAT(made.argv, ElementsAre("agent"));
  EXPECT_EQ(made.prompt, R"({"goal":"x"})");
}

// AGT-3: settings of the role are placeholders of the command.
TEST_F(NodePlan, role_settings_fill_command_placeholders) {
  agent().command = {"agent",  "--model={model}", "{temperature}", "{max_tokens}",
                     "{goal}", "{input}",         "{no} {",        "{prompt}"};
  EXPECT_EQ(refusal(R"({"goal": "g"})").code(), "node.unknown_name");
  role().model = "m-1";
  role().temperature = 0.25;
  role().max_tokens = 4096;
  task().task_template = "do {goal}";
  EXPECT_THAT(plan(R"({"goal": "g"})").argv,
              ElementsAre("agent", "--model=m-1", "0.25", "4096", "g", "do g", "{no} {", "do g"));
}

// ORC-3: a prompt without {input} does not lose the task.
TEST_F(NodePlan, task_is_appended_to_a_prompt_without_input) {
  task().task_template = "build {goal}";
  role().prompt = "You are careful. {{input}}";
  EXPECT_EQ(plan(R"({"goal": "g"})").argv.back(), "You are careful. {input}\n\nbuild g");
  EXPECT_EQ(plan(R"({"goal": "g"})", "the gate did not pass").argv.back(),
            "You are careful. {input}\n\nbuild g\n\nthe gate did not pass");
  role().prompt_takes_input = true;
  EXPECT_EQ(plan(R"({"goal": "g"})").argv.back(), "You are careful. {input}\n\nbuild g");
  role().prompt_takes_input = false;
  EXPECT_EQ(plan(R"({"goal": "g"})").argv.back(), "You are careful. {input}");
  role().prompt = "Do: {input}";
  EXPECT_EQ(plan(R"({"goal": "g"})").argv.back(), "Do: build g");
}

TEST_F(NodePlan, gate_feedback_is_appended_to_the_prompt) {
  task().task_template = "build";
  EXPECT_EQ(plan("{}", "the gate said {goal}").argv.back(), "build\n\nthe gate said {goal}");
}

// RUN-3
TEST_F(NodePlan, most_specific_time_limit_wins) {
  EXPECT_EQ(plan().profile.timeout, TimeLimit::of(seconds(10)));
  role().timeout = TimeLimit::of(seconds(20));
  role().no_output_timeout = TimeLimit::of(seconds(5));
  EXPECT_EQ(plan().profile.timeout, TimeLimit::of(seconds(20)));
  EXPECT_EQ(plan().profile.no_output_timeout, TimeLimit::of(seconds(5)));
  task().timeout = TimeLimit::off();
  EXPECT_EQ(plan().profile.timeout, TimeLimit::off());
}

// RUN-8
TEST_F(NodePlan, environment_is_filtered_by_the_profile) {
  const auto environment = plan().environment;
  EXPECT_EQ(environment.at("API_KEY"), "k3y");
  EXPECT_FALSE(environment.contains("OTHER"));
  EXPECT_THAT(find_secrets(plan()), ElementsAre("k3y"));
}

TEST_F(NodePlan, overlong_argument_is_refused_with_a_fix) {
  const base::Error error = refusal(R"({"goal": ")" + std::string(140'000, 'x') + "\"}");
  EXPECT_EQ(error.code(), "node.too_long");
  EXPECT_THAT(error.fix(), HasSubstr("standard input"));
  agent().command = {"agent"};
  EXPECT_EQ(plan(R"({"goal": ")" + std::string(140'000, 'x') + "\"}").prompt->size(), 140'011U);
}

TEST_F(NodePlan, role_resolves_to_its_tool_or_the_only_one) {
  EXPECT_EQ(find_tool(settings_, "planner").value(), "agent");
  settings_.tools.emplace("other", agent());
  ASSERT_FALSE(find_tool(settings_, "planner"));
  EXPECT_EQ(find_tool(settings_, "planner").error().code(), "node.no_tool");
  EXPECT_THAT(find_tool(settings_, "planner").error().fix(), HasSubstr("roles: {planner: {tool: "));
  role().tool = "other";
  EXPECT_EQ(find_tool(settings_, "coder").value(), "other");
  role().tool = "gone";
  EXPECT_EQ(refusal().code(), "run.unknown_tool");
}

// An undefined role gets no tool, not even the only one: the name may be a typo.
TEST_F(NodePlan, unknown_role_is_refused_with_a_suggestion) {
  ASSERT_EQ(settings_.tools.size(), 1U);
  task().role = "plannr";
  const base::Error error = refusal();
  EXPECT_EQ(error.code(), "node.unknown_role");
  EXPECT_THAT(error.fix(), HasSubstr("planner"));
  EXPECT_EQ(check_plans(settings_, {.nodes = {node_}}).value().code(), "node.unknown_role");
  task().role = "x";
  EXPECT_THAT(refusal().fix(), HasSubstr("roles:"));
}

// S6: `run_role` may name a tool that replaces the role's.
TEST_F(NodePlan, a_task_may_name_its_tool) {
  model::ToolProfile other = agent();
  other.command = {"other", "{prompt}"};
  settings_.tools.emplace("other", other);
  role().tool = "agent";
  EXPECT_EQ(plan().tool, "agent");
  task().tool = "other";
  EXPECT_EQ(plan().tool, "other");
  EXPECT_EQ(plan().argv.at(0), "other");
  // Also if the role itself has no tool.
  task().role = "planner";
  EXPECT_EQ(plan().tool, "other");
  task().tool = "gone";
  EXPECT_EQ(refusal().code(), "run.unknown_tool");
  EXPECT_EQ(check_plans(settings_, {.nodes = {node_}}).value().code(), "run.unknown_tool");
  task().role = "nobody";
  task().tool = "other";
  EXPECT_EQ(refusal().code(), "node.unknown_role");
}

// S6, GRF-8
TEST_F(NodePlan, files_and_context_fill_the_template_or_follow_the_task) {
  agent().command = {"agent"};
  task().target_files = {"src/a.cpp", "docs/b {c}.md"};
  task().extra_context = inputs_of(R"({"style": "short", "limits": {"lines": 3}})");
  EXPECT_EQ(plan(R"({"goal": "go"})").prompt,
            "{\"goal\":\"go\"}\n\nTarget files:\nsrc/a.cpp\ndocs/b {c}.md\n\nExtra context:\nstyle: short\n"
            "limits: {\"lines\":3}");
  task().task_template = "Mend {target_files}.";
  EXPECT_EQ(plan().prompt, "Mend src/a.cpp\ndocs/b {c}.md.\n\nExtra context:\nstyle: short\nlimits: {\"lines\":3}");
  role().prompt = "{input} ({extra_context})";
  EXPECT_EQ(plan().prompt, "Mend src/a.cpp\ndocs/b {c}.md. (style: short\nlimits: {\"lines\":3})");
  // The task's own fields take precedence over inputs of the same name.
  EXPECT_THAT(*plan(R"({"target_files": "other"})").prompt, Not(HasSubstr("other")));
  task().target_files.clear();
  EXPECT_THAT(*plan(R"({"target_files": "other"})").prompt, HasSubstr("Mend other."));
  EXPECT_EQ(refusal().code(), "node.unknown_name");
}

TEST_F(NodePlan, a_gate_gets_its_own_settings_and_never_asks) {
  settings_.gates["test"] = {.command = {"make", "{prompt}"},
                             .timeout = TimeLimit::of(seconds(3)),
                             .env = {{"A", "1"}},
                             .working_dir = "sub/./dir",
                             .depends_on = {}};
  const RunPlan made = plan_gate(settings_, "test", "/checkout").value();
  EXPECT_EQ(made.tool, "test");
  EXPECT_EQ(made.cwd, "/checkout/sub/dir");
  EXPECT_EQ(made.profile.timeout, TimeLimit::of(seconds(3)));
  EXPECT_EQ(made.profile.on_interrupted, model::OnInterrupted::rerun);
  EXPECT_EQ(made.environment.at("A"), "1");
  EXPECT_FALSE(made.environment.contains("API_KEY"));
  EXPECT_FALSE(made.may_ask);
  EXPECT_FALSE(read_plan(keeper::encode_launch(make_launch(made)))->may_ask) << "the next daemon knows it too";
  settings_.gates["test"].working_dir = ".";
  EXPECT_EQ(plan_gate(settings_, "test", "/checkout")->cwd, "/checkout");
}

// ISO-5
TEST_F(NodePlan, a_gate_does_not_leave_its_folder) {
  for (const char* folder : {"..", "a/../..", "/etc", "../checkout"}) {
    settings_.gates["test"] = {.command = {"true"}, .env = {}, .working_dir = folder, .depends_on = {}};
    const auto made = plan_gate(settings_, "test", "/checkout");
    ASSERT_FALSE(made) << folder;
    EXPECT_EQ(made.error().code(), "node.bad_folder");
  }
  const auto unknown = plan_gate(settings_, "tset", "/checkout");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code(), "node.unknown_gate");
  EXPECT_THAT(unknown.error().fix(), HasSubstr("did you mean `test`?"));
}

TEST_F(NodePlan, gates_run_once_after_their_dependencies) {
  const auto add = [&](const char* name, std::vector<std::string> before) {
    settings_.gates[name] = {.command = {"true"}, .env = {}, .depends_on = std::move(before)};
  };
  add("lint", {});
  add("build", {"lint"});
  add("test", {"build", "lint"});
  add("docs", {});
  EXPECT_EQ(order({"docs", "test", "lint"}), "docs lint build test");
  EXPECT_EQ(order({"test", "test"}), "lint build test");
  EXPECT_EQ(order({}), "");
  EXPECT_EQ(order({"none"}), "node.unknown_gate");
  add("lint", {"test"});
  EXPECT_EQ(order({"test"}), "node.gate_cycle");
  add("self", {"self"});
  EXPECT_EQ(order({"self"}), "node.gate_cycle");
}

// A chain of a thousand gates must not exhaust the stack.
TEST_F(NodePlan, a_long_chain_of_gates_is_ordered) {
  for (int i = 0; i < 5'000; ++i) {
    settings_.gates[std::to_string(i)] = {.command = {"true"}, .env = {}, .depends_on = {std::to_string(i + 1)}};
  }
  settings_.gates["5000"] = {.command = {"true"}, .env = {}, .depends_on = {}};
  EXPECT_EQ(order_gates(settings_, {"0"})->size(), 5'001U);
}

TEST_F(NodePlan, unplannable_workflow_is_rejected_before_the_start) {
  model::Workflow workflow;
  workflow.nodes = {node_};
  EXPECT_FALSE(check_plans(settings_, workflow));
  workflow.nodes[0].task_config->gates = {"missing"};
  EXPECT_THAT(check_plans(settings_, workflow)->message(), AllOf(HasSubstr("node `build`"), HasSubstr("`missing`")));
  workflow.nodes[0].task_config->gates = {};
  agent().headless = model::Headless::unsupported;
  EXPECT_EQ(check_plans(settings_, workflow)->code(), "run.headless_unsupported");
  workflow.nodes[0].task_config->role = "noop";
  EXPECT_FALSE(check_plans(settings_, workflow)) << "it needs no tool";
}

}  // namespace
}  // namespace reeve::runtime
