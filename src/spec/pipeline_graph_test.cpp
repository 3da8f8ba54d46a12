#include "spec/pipeline_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/dropped_input.h"
#include "spec/pipelines_file.h"
#include "spec/workflow_file.h"

// Pipelines as graphs (SPEC §4, GRF-16).
namespace reeve::spec {
namespace {

using base::Value;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view file = R"(
agents:
  architect: {role: planner, prompt: "Design {ticket} ({{braces}}): {input}"}
  coder: {role: implementer}
  checker: {tool: pytest}
  odd: {role: agentless, prompt: "{prompt}|{text}"}
pipelines:
  feature:
    description: From idea to code
    steps:
      - {agent: architect, description: "Design {it}"}
      - {type: approval, description: Good?}
      - {type: approval}
      - {agent: coder, description: Write it}
      - {agent: checker}
  asks_first:
    steps: [{type: approval}, {agent: odd}]
)";

model::Config config() {
  model::Config config;
  config.tools["pytest"].command = {"pytest"};
  config.tools["claude"].command = {"claude"};
  config.roles["planner"] = {.tool = "claude", .timeout = base::TimeLimit::off()};
  config.roles["implementer"] = {.tool = "claude", .prompt = "Implement: {input}"};
  config.roles["agentless"] = {.tool = "claude"};
  config.roles["agent:odd"] = {.tool = "pytest"};
  return config;
}

PipelineGraph compile(const PipelineOrder& order) {
  const model::Config known = config();
  const auto parsed = parse_pipelines(std::make_shared<const Source>("p.yaml", std::string(file)), &known, order.name);
  EXPECT_TRUE(parsed) << parsed.error().list().front().message;
  return compile_pipeline(*parsed, known, order);
}

Value with_ticket() {
  Value inputs = Value::object();
  inputs.set("ticket", Value::string("T-{7}"));
  inputs.set("tries", Value::integer(3));
  return inputs;
}

// GRF-16: nothing that a workflow in a file could not be.
TEST(PipelineGraph, is_a_line_of_tasks_and_questions) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "Logins", .inputs = with_ticket()});
  const model::Workflow& workflow = graph.workflow;
  EXPECT_EQ(workflow.id, "pipeline:feature");
  EXPECT_EQ(workflow.name, "feature");
  EXPECT_EQ(workflow.entry_point, "step-1");
  ASSERT_EQ(workflow.nodes.size(), 5U);
  ASSERT_EQ(workflow.edges.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(workflow.edges[i].source, workflow.nodes[i].id);
    EXPECT_EQ(workflow.edges[i].target, workflow.nodes[i + 1].id);
    // A no has no way on: the pipeline fails (PIP-3).
    EXPECT_FALSE(workflow.edges[i].condition);
  }
  EXPECT_EQ(workflow.nodes[0].label, "architect");
  EXPECT_EQ(workflow.nodes[0].description, "Design {it}");
  EXPECT_EQ(workflow.nodes[1].type, model::NodeType::human);
  EXPECT_EQ(workflow.nodes[1].human_config->title, "Good?");
  EXPECT_EQ(workflow.nodes[2].human_config->title, "Go on after architect?");
  EXPECT_EQ(*graph.seeds.find("prompt")->as_string(), "Logins");
  EXPECT_EQ(*graph.seeds.find("ticket")->as_string(), "T-{7}");
}

// PIP-1: what a template makes of the words is the words.
TEST(PipelineGraph, every_agent_is_told_the_prompt_the_inputs_and_its_step) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "Use {x} and }", .inputs = with_ticket()});
  EXPECT_EQ(graph.workflow.nodes[0].task_config->task_template,
            "Use {{x}} and }}\n\nYour step: Design {{it}}\n\nInputs:\nticket: T-{{7}}\ntries: 3");
  EXPECT_THAT(graph.workflow.nodes[4].task_config->task_template, HasSubstr("Use {{x}} and }}\n\nInputs:"));
}

// PIP-3: the comment only of approvals between the agent before and this one.
TEST(PipelineGraph, an_agent_is_told_what_was_said_since_the_one_before) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "P"});
  EXPECT_THAT(graph.workflow.nodes[0].task_config->context, IsEmpty());
  const auto& coder = graph.workflow.nodes[3].task_config->context;
  ASSERT_EQ(coder.size(), 3U);
  EXPECT_EQ(coder[0].field, "step-1.text");
  EXPECT_EQ(coder[1].field, "step-2.comment");
  EXPECT_EQ(coder[2].field, "step-3.comment");
  const auto& checker = graph.workflow.nodes[4].task_config->context;
  ASSERT_EQ(checker.size(), 1U);
  EXPECT_EQ(checker[0].field, "step-4.text");
}

TEST(PipelineGraph, an_agent_with_a_tool_or_a_prompt_is_a_role_of_its_own) {
  const PipelineGraph graph = compile({.name = "feature", .prompt = "P", .inputs = with_ticket()});
  EXPECT_EQ(graph.workflow.nodes[0].task_config->role, "agent:architect");
  EXPECT_EQ(graph.workflow.nodes[3].task_config->role, "implementer");
  EXPECT_EQ(graph.workflow.nodes[4].task_config->role, "agent:checker");
  ASSERT_EQ(graph.roles.size(), 2U);
  const model::Role& architect = graph.roles.at("agent:architect");
  EXPECT_EQ(architect.prompt, "Design T-{{7}} ({{braces}}): {input}");
  // The rest is its role's.
  EXPECT_EQ(architect.tool, "claude");
  EXPECT_EQ(architect.timeout, base::TimeLimit::off());
  EXPECT_EQ(graph.roles.at("agent:checker").tool, "pytest");
  EXPECT_EQ(graph.roles.at("agent:checker").prompt, "{input}");
}

// ORC-3: what is said of a prompt holds for that prompt alone.
TEST(PipelineGraph, an_agent_says_whether_its_prompt_takes_the_task) {
  model::Pipelines pipelines;
  pipelines.agents["a"] = {.role = "implementer", .tool = {}, .prompt = "Other", .description = {}};
  pipelines.agents["b"] = {
      .role = "implementer", .tool = {}, .prompt = {}, .prompt_takes_input = true, .description = {}};
  pipelines.agents["c"] = {.role = "implementer", .tool = {}, .prompt = {}, .description = {}};
  pipelines.pipelines["p"].steps = {
      {.agent = "a", .description = {}}, {.agent = "b", .description = {}}, {.agent = "c", .description = {}}};
  model::Config known = config();
  known.roles["implementer"] = {.tool = "claude", .prompt = "No task", .prompt_takes_input = false};
  const PipelineGraph graph =
      compile_pipeline(pipelines, known, {.name = "p", .prompt = "P", .inputs = Value::object()});
  EXPECT_EQ(graph.roles.at("agent:a").prompt_takes_input, std::nullopt);
  EXPECT_EQ(graph.roles.at("agent:b").prompt_takes_input, true);
  EXPECT_EQ(graph.workflow.nodes[2].task_config->role, "implementer");
  using ::testing::ElementsAre;
  EXPECT_THAT(find_dropped_input(pipelines, known, "p"), ElementsAre("the agent `a`"));
  known.roles["implementer"].prompt_takes_input.reset();
  EXPECT_THAT(find_dropped_input(pipelines, known, "p"), ElementsAre("the agent `a`", "the role `implementer`"));
  EXPECT_THAT(find_dropped_input(known), ElementsAre("the role `implementer`"));
  EXPECT_THAT(find_dropped_input(pipelines), ElementsAre("the agent `a`"));
}

TEST(PipelineGraph, no_role_of_the_config_is_taken_for_an_agent) {
  const PipelineGraph graph = compile({.name = "asks_first", .prompt = "P {a}"});
  EXPECT_EQ(graph.workflow.nodes[0].human_config->title, "Begin with asks_first?");
  EXPECT_EQ(graph.workflow.nodes[1].task_config->role, "agent:odd_");
  EXPECT_EQ(graph.roles.at("agent:odd_").prompt, "P {{a}}|{text}");
}

TEST(PipelineGraph, no_workflow_of_a_file_is_taken_for_a_pipeline) {
  EXPECT_TRUE(is_pipeline(pipeline_workflow_id("x")));
  EXPECT_FALSE(is_pipeline("pipeline"));
  const auto parsed = parse_workflow(std::make_shared<const Source>(
      "w.yaml",
      "id: 'pipeline:x'\nname: W\nentry_point: h\nnodes:\n  - {id: h, type: human, human_config: {title: T}}\nedges: "
      "[]\n"));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().list().front().code, "flow.bad_id");
}

// Before anything starts; of agents that the pipeline does not need nothing is asked.
TEST(PipelineGraph, agents_of_the_started_pipeline_come_to_a_tool) {
  const auto source = std::make_shared<const Source>(
      "p.yaml",
      "agents: {a: {role: reviewer}, b: {tool: t}}\npipelines: {p: {steps: [{agent: a}]}, q: {steps: [{agent: b}]}}");
  model::Config two;
  two.tools["t"].command = {"t"};
  two.tools["u"].command = {"u"};
  EXPECT_TRUE(parse_pipelines(source, &two));
  EXPECT_TRUE(parse_pipelines(source, &two, "q"));
  const auto refused = parse_pipelines(source, &two, "p");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list().front().code, "pipeline.role_without_tool");
}

TEST(PipelineGraph, names_are_held_to_what_can_be_shown) {
  const auto parsed = parse_pipelines(std::make_shared<const Source>(
      "p.yaml", "agents: {\"a\\tb\": {tool: t}}\npipelines: {\" \": {steps: [{agent: \"a\\tb\"}]}}"));
  ASSERT_FALSE(parsed);
  ASSERT_EQ(parsed.error().list().size(), 2U);
  for (const base::Problem& problem : parsed.error().list()) EXPECT_EQ(problem.code, "pipeline.bad_id");
}

}  // namespace
}  // namespace reeve::spec
